//! A long run over an endpoint that dies on the way: nothing is lost, and nothing that was answered is asked again.

use crate::harness::exegete;
use exegete_testkit::http::{request, respond};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::BufReader;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const TEXTS: usize = 1000;
/// What every connection is tried with.
const PROBE: &str = "This is a sentence.";

/// Texts with how often each was answered.
type Answered = HashMap<String, usize>;

/// Answers until it has answered this many texts; then the port is closed.
fn serve(listener: TcpListener, most: usize, answered: &Mutex<Answered>) {
    let mut count = 0;
    for stream in listener.incoming().flatten() {
        let mut stream = BufReader::new(stream);
        while let Some(texts) = read(&mut stream) {
            if count >= most {
                return;
            }
            if !write(stream.get_mut(), &texts) {
                break;
            }
            count += texts.len();
            let mut answered = answered.lock().unwrap();
            texts.into_iter().for_each(|text| *answered.entry(text).or_default() += 1);
        }
    }
}

/// The texts of one request; none where the connection ended.
fn read(stream: &mut BufReader<TcpStream>) -> Option<Vec<String>> {
    let body = request(stream)?;
    Some(body["texts"].as_array()?.iter().map(|text| text.as_str().unwrap().to_owned()).collect())
}

fn write(stream: &mut TcpStream, texts: &[String]) -> bool {
    let row = |text: &String| {
        let yes = 1.0 / (1.0 + text.len() as f64);
        [1.0 - yes, yes]
    };
    let rows: Vec<_> = texts.iter().map(row).collect();
    respond(stream, "200 OK", &json!({"scores": rows, "labels": ["no", "yes"]}).to_string())
}

#[test]
fn an_endpoint_that_dies_twice_costs_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("texts.txt"), folder.path().join("out.jsonl"));
    let lines: String = (0..TEXTS).map(|i| format!("word{i} is here\n")).collect();
    std::fs::write(&input, lines).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port: SocketAddr = listener.local_addr().unwrap();
    let address = format!("http://{port}");
    let args = ["explain", "--input", input.to_str().unwrap(), "-o", output.to_str().unwrap()];
    let args = [&args[..], &["--model", &address, "--method", "leave_one_out", "--check", "none"]].concat();
    let args = [&args[..], &["--retries", "1", "--timeout", "20"]].concat();
    let (answered, mut listener) = (Arc::new(Mutex::new(Answered::new())), Some(listener));
    for most in [700, 1300, usize::MAX] {
        let own = listener.take().unwrap_or_else(|| TcpListener::bind(port).unwrap());
        let shared = Arc::clone(&answered);
        // The last server waits for a connection that never comes, and ends with the test.
        let server = std::thread::spawn(move || serve(own, most, &shared));
        let run = exegete(&args);
        if most == usize::MAX {
            assert_eq!(run.code, 0, "{}", run.stderr);
            break;
        }
        assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(&address) && !output.exists(), "{}", run.stderr);
        server.join().unwrap();
    }
    let answered = answered.lock().unwrap();
    assert!(answered.len() > 3 * TEXTS, "{} texts", answered.len());
    let twice: Vec<_> = answered.iter().filter(|(text, times)| **times > 1 && *text != PROBE).collect();
    assert!(twice.is_empty(), "asked again: {twice:?}");
    let lines = std::fs::read_to_string(&output).unwrap();
    assert_eq!(lines.lines().count(), TEXTS);
    for (i, line) in lines.lines().enumerate() {
        let report: Value = serde_json::from_str(line).unwrap();
        assert_eq!(report["items"][0]["input"][0]["text"], format!("word{i} is here"));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside the output");
}
