"""Runs two or more builds of `exegete bench` in turns and prints the ratios of their best times.

    python benches/peers/turns.py OLD NEW [NEW:--width=256 …] [--rounds 5] [--model DIR] [--only NAME]

The first build is what the others are held against. A build may have flags of its own behind a colon, separated by
commas. Each round runs every build once, in an order that is reversed every other round, so that whatever else the
machine does hits all of them; the best time of each counts, and a ratio above one is faster than the first.
"""

import argparse
import json
import subprocess
import sys

WORK = ["forward_batch", "forward_mixed", "forward_single", "gradient"]


def main():
    options = arguments()
    builds = [parse(build) for build in options.builds]
    work = [name for name in WORK if options.only in name]
    if not work:
        raise SystemExit(f"no work has such a name; it is {', '.join(WORK)}")
    laps = {(name, at): [] for name in work for at in range(len(builds))}
    for turn in range(options.rounds):
        order = list(range(len(builds)))
        for name in work:
            for at in order if turn % 2 == 0 else order[::-1]:
                laps[name, at].append(seconds(builds[at], name, options))
                print(f"round {turn + 1}: {name} of build {at}: {laps[name, at][-1]:.4f} s", file=sys.stderr)
    print_table(work, options, laps)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="PROGRAM[:FLAGS]", help="the programs, that of before first")
    parser.add_argument("--rounds", type=int, default=5, help="how often all builds take turns")
    parser.add_argument("--threads", type=int, default=2, help="threads of every build")
    parser.add_argument("--model", help="a Hugging Face folder instead of BERT-base with random weights")
    parser.add_argument("--only", default="", metavar="NAME", help="only the work whose name holds this")
    return parser.parse_args()


def parse(build):
    """The command of a build: its program and its own flags."""
    program, _, flags = build.partition(":")
    return [program, "bench", *filter(None, flags.split(","))]


def seconds(build, name, options):
    """The best time of one run of a build."""
    command = [*build, "--quick", "--format", "json", "--only", name, "--threads", str(options.threads)]
    if options.model:
        command += ["--model", options.model]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {finished.stderr.strip()}")
    return json.loads(finished.stdout)["figures"][0]["seconds"]


def print_table(work, options, laps):
    """Best times, and by how much each build is faster than the first; the spread is the worst round's."""
    print(f"best of {options.rounds} rounds in turns, {options.threads} threads")
    for at, build in enumerate(options.builds):
        print(f"{at}: {build}")
    print(f"{'work':<18}{'build':>6}{'best s':>10}{'worst s':>10}{'ratio':>9}")
    for name in work:
        first = min(laps[name, 0])
        for at in range(len(options.builds)):
            times = laps[name, at]
            print(f"{name:<18}{at:>6}{min(times):>10.4f}{max(times):>10.4f}{first / min(times):>8.3f}×")


if __name__ == "__main__":
    main()
