//! A server of a few lines that answers as a test tells it to.

use exegete_testkit::http::{head, request, respond};
use serde_json::{Value, json};
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What to do with one request.
pub(crate) enum Step {
    /// Status 200 and this body.
    Reply(String),
    /// Another status, with a body.
    Status(&'static str, String),
    /// These bytes, and the connection is closed.
    Raw(Vec<u8>),
    /// This long nothing, then the connection is closed.
    Silence(Duration),
    /// The beginning of an answer, then a byte now and then.
    Drip,
    /// An answer without end.
    Endless,
}

type Script = dyn Fn(usize, &Value) -> Step + Send + Sync;

/// A server on a free port of this machine; its threads end with the tests.
pub(crate) struct Server {
    pub(crate) address: String,
    requests: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    /// Answers with `script(number of the request, request)`.
    pub(crate) fn start(script: impl Fn(usize, &Value) -> Step + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: format!("http://{}/predict", listener.local_addr().unwrap()),
            requests: Arc::default(),
            bodies: Arc::default(),
        };
        let (requests, bodies) = (Arc::clone(&server.requests), Arc::clone(&server.bodies));
        let script: Arc<Script> = Arc::new(script);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, requests, bodies) =
                    (Arc::clone(&script), Arc::clone(&requests), Arc::clone(&bodies));
                thread::spawn(move || {
                    let mut stream = BufReader::new(stream);
                    while let Some(body) = request(&mut stream) {
                        let number = requests.fetch_add(1, Ordering::SeqCst);
                        bodies.lock().unwrap().push(body.clone());
                        if !write(stream.get_mut(), script(number, &body)) {
                            return;
                        }
                    }
                });
            }
        });
        server
    }

    /// How often it was asked.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Every text it was asked about, in order.
    pub(crate) fn texts(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().unwrap();
        bodies.iter().flat_map(|body| body["texts"].as_array().unwrap().clone()).collect()
    }
}

/// The reply of a sound model: a text's own number, in thousandths, is the probability of yes.
pub(crate) fn sound(request: &Value) -> String {
    let row = |text: &Value| {
        let digits: String = text.to_string().chars().filter(char::is_ascii_digit).collect();
        let yes = digits.parse::<f64>().unwrap_or(0.0) / 1000.0;
        [1.0 - yes, yes]
    };
    let rows: Vec<_> = request["texts"].as_array().unwrap().iter().map(row).collect();
    json!({"scores": rows, "labels": ["no", "yes"]}).to_string()
}

/// Whether the connection stays open.
fn write(stream: &mut TcpStream, step: Step) -> bool {
    match step {
        Step::Reply(body) => respond(stream, "200 OK", &body),
        Step::Status(status, body) => respond(stream, status, &body),
        Step::Raw(bytes) => {
            let _ = stream.write_all(&bytes);
            false
        }
        Step::Silence(time) => {
            thread::sleep(time);
            false
        }
        Step::Drip => {
            let mut sent = stream.write_all(head("200 OK", 1000).as_bytes());
            while sent.is_ok() {
                thread::sleep(Duration::from_millis(50));
                sent = stream.write_all(b" ");
            }
            false
        }
        Step::Endless => {
            let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            while sent.is_ok() {
                sent = stream.write_all(&[b' '; 1 << 16]);
            }
            false
        }
    }
}
