//! The part of HTTP/1.1 that agents use: keep-alive, bodies with a length or in chunks, `100-continue`.

use std::io::{self, BufRead, Read, Write};

/// More than any agent sends; the bound keeps a wrong length from using up the memory.
const MOST_BODY_BYTES: usize = 64 << 20;

/// A received request with its complete body.
#[derive(Debug)]
pub struct RawRequest {
    pub method: String,
    /// Path without the query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl RawRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value)
    }
}

/// Reads the next request of a connection; `None` if the client has closed it.
pub fn read_request(reader: &mut impl BufRead, writer: &mut impl Write) -> io::Result<Option<RawRequest>> {
    let Some(line) = read_line(reader)? else {
        return Ok(None);
    };
    let mut words = line.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(invalid(&format!("not a request line: {line:?}")));
    };
    let path = target.split('?').next().unwrap_or(target).to_owned();
    let mut request = RawRequest {
        method: method.to_owned(),
        path,
        headers: read_headers(reader)?,
        body: Vec::new(),
    };
    if request
        .header("expect")
        .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
    {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    request.body = match request.header("transfer-encoding") {
        Some(encoding) if encoding.eq_ignore_ascii_case("chunked") => read_chunks(reader)?,
        Some(encoding) => return Err(invalid(&format!("unknown transfer encoding {encoding:?}"))),
        None => {
            let length = request.header("content-length").unwrap_or("0");
            let length = length
                .parse()
                .map_err(|_| invalid(&format!("not a length: {length:?}")))?;
            read_bytes(reader, length)?
        }
    };
    Ok(Some(request))
}

fn read_headers(reader: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if line.is_empty() {
            return Ok(headers);
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| invalid(&format!("not a header: {line:?}")))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let digits = line.split(';').next().unwrap_or(&line).trim();
        let size = usize::from_str_radix(digits, 16).map_err(|_| invalid(&format!("not a chunk size: {line:?}")))?;
        if size == 0 {
            // Trailers look like headers and end the same way.
            read_headers(reader)?;
            return Ok(body);
        }
        if body.len() + size > MOST_BODY_BYTES {
            return Err(invalid("body too large"));
        }
        body.extend(read_bytes(reader, size)?);
        read_line(reader)?;
    }
}

fn read_bytes(reader: &mut impl BufRead, length: usize) -> io::Result<Vec<u8>> {
    if length > MOST_BODY_BYTES {
        return Err(invalid("body too large"));
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a line without its end; `None` at the end of the stream.
fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if reader.take(64 << 10).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let line = line.strip_suffix(b"\n").unwrap_or(&line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(Some(String::from_utf8_lossy(line).into_owned()))
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RawRequest {
        read_request(&mut text.as_bytes(), &mut io::sink()).unwrap().unwrap()
    }

    #[test]
    fn a_body_in_chunks_is_put_together() {
        let request =
            read("POST /v1/x?y=1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;z\r\nde\r\n0\r\n\r\n");
        assert_eq!(
            (request.path.as_str(), request.body.as_slice()),
            ("/v1/x", b"abcde".as_slice())
        );
    }

    #[test]
    fn a_body_with_a_length_leaves_the_next_request_alone() {
        let mut two = &b"POST /a HTTP/1.1\r\ncontent-length: 2\r\n\r\nhiGET /b HTTP/1.1\r\n\r\n"[..];
        let first = read_request(&mut two, &mut io::sink()).unwrap().unwrap();
        let second = read_request(&mut two, &mut io::sink()).unwrap().unwrap();
        assert_eq!((first.body.as_slice(), second.path.as_str()), (b"hi".as_slice(), "/b"));
        assert!(read_request(&mut two, &mut io::sink()).unwrap().is_none());
    }

    #[test]
    fn a_client_that_asks_first_is_told_to_go_on() {
        let mut said = Vec::new();
        let text = "POST /a HTTP/1.1\r\nExpect: 100-continue\r\ncontent-length: 1\r\n\r\nx";
        read_request(&mut text.as_bytes(), &mut said).unwrap().unwrap();
        assert_eq!(said, b"HTTP/1.1 100 Continue\r\n\r\n");
    }
}
