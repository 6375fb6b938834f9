"""Writes the nested quadrature rules of Patterson (1968) that integrated gradients uses, as a Rust table.

    python golden/quadrature.py > crates/methods/src/quadrature/patterson.rs

Each rule keeps the points of the one before and puts one more into every gap, so that the sum integrates polynomials of
the highest possible degree. Computed to 60 digits; symmetric around 0, so that only points >= 0 are stored.
"""

from mpmath import mp, mpf

mp.dps = 60
LEVELS = 8  # 1, 3, 7, ... 255 points


def legendre(count, x):
    values = [mpf(1), x]
    for n in range(1, count):
        values.append(((2 * n + 1) * x * values[n] - n * values[n - 1]) / (n + 1))
    return values[: count + 1]


def gauss(count):
    """Gauss-Legendre points and weights."""
    points = []
    for i in range(1, count + 1):
        x = mp.cos(mp.pi * (i - mpf(1) / 4) / (count + mpf(1) / 2))
        for _ in range(100):
            p = legendre(count, x)
            slope = count * (x * p[count] - p[count - 1]) / (x * x - 1)
            step = p[count] / slope
            x -= step
            if abs(step) < mpf(10) ** (-mp.dps + 5):
                break
        p = legendre(count, x)
        slope = count * (x * p[count] - p[count - 1]) / (x * x - 1)
        points.append((x, 2 / ((1 - x * x) * slope * slope)))
    return points


def extend(nodes):
    """The points between these (all >= 0, sorted, 0 included) that make the best rule together with them."""
    n = 2 * len(nodes) - 1
    rule = gauss(2 * n + 3)
    evaluated = []
    for x, w in rule:
        own = x if len(nodes) else mpf(1)
        for node in nodes[1:]:
            own *= x * x - node * node
        evaluated.append((w * own, legendre(n + 1, x)))
    # E = L_{n+1} + sum c_j L_j over j of the parity of n + 1; orthogonal to own * L_k for k of odd parity of own.
    unknown = list(range((n + 1) % 2, n + 1, 2))
    tests = list(range(1, n + 1, 2))[: len(unknown)]
    inner = lambda j, k: mp.fsum(o * p[j] * p[k] for o, p in evaluated)
    matrix = mp.matrix(len(tests), len(unknown))
    right = mp.matrix(len(tests), 1)
    for row, k in enumerate(tests):
        for column, j in enumerate(unknown):
            matrix[row, column] = inner(j, k)
        right[row] = -inner(n + 1, k)
    c = mp.lu_solve(matrix, right)

    def value(x):
        p = legendre(n + 1, x)
        return p[n + 1] + mp.fsum(c[i] * p[j] for i, j in enumerate(unknown))

    edges = list(nodes) + [mpf(1)]
    found = []
    for low, high in zip(edges, edges[1:]):
        found.append(root(value, low, high))
    return sorted(list(nodes) + found)


def root(f, low, high):
    inside = (high - low) * mpf(10) ** -25
    low, high = low + inside, high - inside
    below = f(low)
    for _ in range(60):
        middle = (low + high) / 2
        if (f(middle) > 0) == (below > 0):
            low = middle
        else:
            high = middle
    return mp.findroot(f, (low, high), solver="secant", tol=mpf(10) ** -50, maxsteps=30)


def weights(nodes):
    """Of the points >= 0; exact for all even Legendre polynomials up to their number."""
    count = len(nodes)
    matrix, right = mp.matrix(count, count), mp.matrix(count, 1)
    for column, x in enumerate(nodes):
        p = legendre(2 * count, x)
        for row in range(count):
            matrix[row, column] = p[2 * row] * (1 if column == 0 else 2)
    right[0] = 2
    return list(mp.lu_solve(matrix, right))


def table(name, numbers, doc):
    print(f"/// {doc}")
    print(f"pub(super) const {name}: [f64; {len(numbers)}] = [")
    for i in range(0, len(numbers), 4):
        print("    " + " ".join(f"{float(x)!r}," for x in numbers[i : i + 4]))
    print("];\n")


def main():
    print("//! Made by `golden/quadrature.py`. Points of the nested rules on -1..1, those >= 0, and their weights.")
    print("#![allow(clippy::excessive_precision, clippy::unreadable_literal, reason = \"a table of numbers\")]\n")
    nodes = [mpf(0), mp.sqrt(mpf(3) / 5)]
    levels = [nodes]
    while len(levels) < LEVELS - 1:
        nodes = extend(nodes)
        levels.append(nodes)
    table("NODES", levels[-1], "Those of the largest rule; every other one belongs to the rule before.")
    for level, nodes in enumerate(levels):
        if len(nodes) >= 2:
            table(f"WEIGHTS_{2 * len(nodes) - 1}", weights(nodes), f"Of the rule of {2 * len(nodes) - 1} points.")


main()
