//! As much of HTTP as a server for tests needs.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The body of one request; none where the connection ended or it is no JSON.
pub fn request(stream: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// What stands before a body of so many bytes.
pub fn head(status: &str, length: usize) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n")
}

/// Sends an answer; whether somebody took it.
pub fn respond(stream: &mut TcpStream, status: &str, body: &str) -> bool {
    stream.write_all((head(status, body.len()) + body).as_bytes()).is_ok()
}
