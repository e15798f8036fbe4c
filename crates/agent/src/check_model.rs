//! The model server of a check, on a port of this machine: it answers every request with the same text.
//!
//! Its clients are the agents that are started for the check, so requests are read as HTTP libraries write them, each
//! connection is closed after its answer, and what is read has a bound.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::Value;

use super::check_answers::answer;

/// Most bytes of a request's head, and of its body.
const HEAD_CAP_BYTES: u64 = 64 << 10;
const BODY_CAP_BYTES: u64 = 16 << 20;
/// How long a client may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// A running server. Dropping it ends it.
pub(super) struct CheckModel {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl CheckModel {
    /// Starts the server.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn start() -> io::Result<CheckModel> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let has_ended = Arc::clone(&ended);
        thread::Builder::new().name("check-model".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if has_ended.load(Ordering::Acquire) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let serving = thread::Builder::new().name("check-client".to_owned());
                // A client that cannot be served finds its connection closed.
                _ = serving.spawn(move || serve(stream));
            }
        })?;
        Ok(CheckModel { address, ended })
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address without a path.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for CheckModel {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // Wakes the thread that waits for a client.
        _ = TcpStream::connect(self.address);
    }
}

/// Answers one request.
fn serve(stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let request = RequestHead::read(&mut reader)?;
    let mut body = Vec::new();
    if request.is_chunked {
        read_chunks(&mut reader, &mut body)?;
    } else {
        reader.take(request.length.min(BODY_CAP_BYTES)).read_to_end(&mut body)?;
    }
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let found = answer(&request.method, &request.path, &body);
    let (status, content_type, text) = match &found {
        Some(answer) => ("200 OK", answer.content_type, answer.body.as_str()),
        None => ("404 Not Found", "application/json", "{}"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    let text = if request.method == "HEAD" { "" } else { text };
    (&stream).write_all((head + text).as_bytes())
}

#[derive(Debug, Default)]
struct RequestHead {
    method: String,
    /// Without the query.
    path: String,
    length: u64,
    is_chunked: bool,
}

impl RequestHead {
    fn read(reader: &mut impl BufRead) -> io::Result<RequestHead> {
        let mut head = RequestHead::default();
        let mut lines = reader.take(HEAD_CAP_BYTES);
        let mut line = String::new();
        lines.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        head.method = words.next().unwrap_or_default().to_owned();
        let target = words.next().unwrap_or_default();
        head.path = target.split('?').next().unwrap_or_default().to_owned();
        loop {
            line.clear();
            if lines.read_line(&mut line)? == 0 || line.trim().is_empty() {
                return Ok(head);
            }
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = value.trim().parse().unwrap_or(0),
                "transfer-encoding" => head.is_chunked = value.to_ascii_lowercase().contains("chunked"),
                _ => {}
            }
        }
    }
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    let mut line = String::new();
    while (body.len() as u64) < BODY_CAP_BYTES {
        line.clear();
        reader.take(HEAD_CAP_BYTES).read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).unwrap_or(0);
        reader.take(size.min(BODY_CAP_BYTES)).read_to_end(body)?;
        line.clear();
        reader.take(HEAD_CAP_BYTES).read_line(&mut line)?;
        if size == 0 {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::check_answers::ANSWER, *};

    fn asked(request: &str) -> String {
        let model = CheckModel::start().expect("a port");
        let mut stream = TcpStream::connect(model.address).expect("the server");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answered = String::new();
        stream.read_to_string(&mut answered).expect("an answer");
        answered
    }

    #[test]
    fn a_request_is_answered_whatever_form_its_body_has() {
        let body = r#"{"model":"m","stream":true}"#;
        let (first, second) = body.split_at(9);
        let sized = format!(
            "POST /v1/chat/completions?x=1 HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let chunked = format!(
            "POST /v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
            first.len(),
            second.len()
        );
        for request in [sized, chunked] {
            let answered = asked(&request);
            assert!(
                answered.contains("text/event-stream") && answered.contains(ANSWER),
                "{answered}"
            );
        }
        assert!(asked("GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(asked("\r\n\r\n").starts_with("HTTP/1.1 404"));
    }
}
