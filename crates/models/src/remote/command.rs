//! A program that is asked on its stdin and answers on its stdout, one line each.
//!
//! Three threads keep any one stream from blocking the others: a program that floods stderr, never reads, or never
//! ends a line costs a timeout and bounded memory. After any fault the process is killed with all it started and a
//! new one is asked, because a late answer would be taken for the answer to the next question.

use super::http::{MOST_BYTES, too_long};
use super::line::{Channel, Fault, excerpt};
use exegete_core::Result;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How much of stderr is remembered.
const TAIL_BYTES: usize = 4096;
/// How many of its last lines are told.
const TAIL_LINES: usize = 3;
const TAIL_CHARS: usize = 200;
/// How long a process may take to end by itself, once its input is closed or its output ended.
const GRACE: Duration = Duration::from_millis(500);
/// How long nothing may follow the first answer of a process. Later lines are seen when the next question is due; this
/// wait catches a program that prints two lines an answer before any of its answers is used.
const QUIET: Duration = Duration::from_millis(100);

/// A command with the process that runs it, if one does.
pub(super) struct Pipe {
    command: String,
    timeout: Duration,
    process: Mutex<Option<Process>>,
}

impl Pipe {
    /// A pipe to a command that has not been started yet.
    pub(super) fn new(command: &str, timeout: Duration) -> Self {
        Self { command: command.to_owned(), timeout, process: Mutex::default() }
    }
}

impl Channel for Pipe {
    fn ask(&self, request: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut running = lock(&self.process);
        let mut process = match running.take() {
            Some(process) => process,
            None => Process::start(&self.command)?,
        };
        match process.ask(request, self.timeout) {
            Ok(line) => {
                *running = Some(process);
                Ok(line)
            }
            Err(silence) => Err(process.why(silence, self.timeout)),
        }
    }

    fn reset(&self) {
        drop(lock(&self.process).take());
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if let Some(mut process) = lock(&self.process).take() {
            // A program that ends when its input does may tidy up; any other is killed by its own drop.
            process.input = None;
            process.ended(GRACE);
        }
    }
}

/// Why a process gave no line.
enum Silence {
    Late,
    Ended,
    TooLong,
    /// It said more than it was asked for: this.
    Unasked(Vec<u8>),
}

/// A line, or none where it was too long.
type Line = Option<Vec<u8>>;

struct Process {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Line>,
    tail: Arc<Mutex<Vec<u8>>>,
    /// Hangs up when stderr ended.
    tail_ended: Receiver<()>,
    /// Whether it answered once and then kept quiet.
    trusted: bool,
    killed: bool,
}

impl Process {
    fn start(command: &str) -> Result<Self, Fault> {
        let advice = "check that the command can be run in a shell";
        let failed = |what: &str| Fault::lasting(what, advice);
        let mut shell = shell(command);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().map_err(|error| failed(&format!("cannot be started: {error}")))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (input, requests) = mpsc::channel();
        let (lines, output) = mpsc::sync_channel(1);
        let (ended, tail_ended) = mpsc::sync_channel(1);
        let tail = Arc::new(Mutex::default());
        let process = Self {
            child,
            input: Some(input),
            output,
            tail: Arc::clone(&tail),
            tail_ended,
            trusted: false,
            killed: false,
        };
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else { return Err(failed("has no streams")) };
        let threads = [
            spawn(move || write_requests(stdin, &requests)),
            spawn(move || read_lines(stdout, &lines)),
            spawn(move || remember(stderr, &tail, ended)),
        ];
        if threads.iter().any(Result::is_err) {
            return Err(failed("cannot be listened to: the system gives no more threads"));
        }
        Ok(process)
    }

    fn ask(&mut self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, Silence> {
        match self.output.try_recv() {
            Ok(line) => return Err(line.map_or(Silence::TooLong, Silence::Unasked)),
            Err(TryRecvError::Disconnected) => return Err(Silence::Ended),
            Err(TryRecvError::Empty) => {}
        }
        if let Some(input) = &self.input {
            // Where the program closed its input, its output or the timeout tells more.
            let _ = input.send(request.to_vec());
        }
        let line = match self.output.recv_timeout(timeout) {
            Ok(line) => line.ok_or(Silence::TooLong)?,
            Err(RecvTimeoutError::Timeout) => return Err(Silence::Late),
            Err(RecvTimeoutError::Disconnected) => return Err(Silence::Ended),
        };
        if !std::mem::replace(&mut self.trusted, true)
            && let Ok(more) = self.output.recv_timeout(QUIET)
        {
            return Err(more.map_or(Silence::TooLong, |more| Silence::Unasked([line, more].concat())));
        }
        Ok(line)
    }

    /// The fault behind a silence, with what the program said on stderr.
    fn why(mut self, silence: Silence, timeout: Duration) -> Fault {
        let status = if matches!(silence, Silence::Ended) { self.ended(GRACE) } else { None };
        self.kill();
        let _ = self.tail_ended.recv_timeout(GRACE);
        let said = last_lines(&lock(&self.tail));
        match silence {
            Silence::TooLong => too_long(),
            Silence::Unasked(line) => {
                let what = format!("printed more lines than it was asked for: {}", excerpt(&line));
                Fault::lasting(what, "print one line for every line read, and messages on stderr")
            }
            Silence::Late => {
                let what = format!("did not answer within {} s and was stopped{said}", timeout.as_secs_f64());
                Fault::passing(
                    what,
                    "raise --timeout (loading a model counts), lower --batch, and flush every line",
                )
            }
            Silence::Ended => ended_without_answer(status, &said),
        }
    }

    /// Kills the process with all that it started, and waits, so that no zombie stays. Once: a number that is free
    /// again may be given to another process.
    fn kill(&mut self) {
        if !std::mem::replace(&mut self.killed, true) {
            kill_group(self.child.id());
            // Both fail only where it ended already.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Waits for a process that is about to end.
    fn ended(&mut self, longest: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + longest;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn ended_without_answer(status: Option<ExitStatus>, said: &str) -> Fault {
    match status {
        // What shells say where a command is missing or cannot be executed.
        Some(status) if matches!(status.code(), Some(126 | 127)) => {
            Fault::lasting(format!("cannot be run{said}"), "check the command's name and path")
        }
        Some(status) => {
            let what = format!("ended without an answer ({status}){said}");
            Fault::passing(what, "it must read and answer lines until its input ends")
        }
        None => {
            let what = format!("closed its output without an answer{said}");
            Fault::passing(what, "it must read and answer lines until its input ends")
        }
    }
}

#[cfg(unix)]
fn shell(command: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut shell = Command::new("sh");
    // A group of its own, so that what the shell starts can be killed with it.
    shell.arg("-c").arg(command).process_group(0);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.arg("/C").arg(command);
    shell
}

/// Kills what a shell started, and itself, by the shell's own `kill`: the standard library has no call for it.
#[cfg(unix)]
fn kill_group(leader: u32) {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -s KILL -- \"-$0\"", &leader.to_string()]);
    // It fails only where all have ended already.
    let _ = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[cfg(not(unix))]
fn kill_group(_leader: u32) {}

fn spawn(work: impl FnOnce() + Send + 'static) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().spawn(work)
}

fn write_requests(mut stdin: ChildStdin, requests: &Receiver<Vec<u8>>) {
    for request in requests {
        if stdin.write_all(&request).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_lines(stdout: ChildStdout, lines: &SyncSender<Line>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match stdout.by_ref().take(MOST_BYTES + 1).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            _ => return,
        }
        let whole = line.len() as u64 <= MOST_BYTES;
        if lines.send(whole.then_some(line)).is_err() || !whole {
            return;
        }
    }
}

/// Reads to the end, whatever comes, and keeps the last of it.
fn remember(mut stderr: ChildStderr, tail: &Mutex<Vec<u8>>, ended: SyncSender<()>) {
    let mut piece = [0; TAIL_BYTES];
    while let Ok(count @ 1..) = stderr.read(&mut piece) {
        let mut tail = lock(tail);
        tail.extend_from_slice(&piece[..count]);
        let more = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..more);
    }
    drop(ended);
}

fn last_lines(tail: &[u8]) -> String {
    let tail = String::from_utf8_lossy(tail);
    let lines: Vec<&str> = tail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(TAIL_LINES)..].join(" | ");
    // The end says most: the beginning of a long trace is cut.
    let cut = last.char_indices().rev().nth(TAIL_CHARS).map_or(0, |(at, c)| at + c.len_utf8());
    let dots = if cut > 0 { "…" } else { "" };
    if last.is_empty() { String::new() } else { format!(", saying '{dots}{}'", &last[cut..]) }
}

/// What the lock protects stays sound, even where another thread panicked while it held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
