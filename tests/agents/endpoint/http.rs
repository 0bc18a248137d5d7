//! As much of HTTP/1.1 as agents use.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

/// A request.
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    /// `null` if it was not JSON.
    pub(crate) body: Value,
}

/// A response.
pub(crate) enum Reply {
    /// One document.
    Json(u16, Value),
    /// Server-sent events: name, and data.
    Events(Vec<(Option<&'static str>, String)>),
}

impl Reply {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        Self::Json(status, body)
    }
}

/// The next request of a connection; `None` at its end.
pub(crate) fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let first = line(&mut reader)?;
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let (mut length, mut chunked) = (0, false);
    loop {
        let header = line(&mut reader)?.to_ascii_lowercase();
        let Some((name, value)) = header.split_once(':') else { break };
        match name {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "transfer-encoding" => chunked = value.contains("chunked"),
            "expect" => (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let body = if chunked { chunks(&mut reader)? } else { bytes(&mut reader, length)? };
    let path = target.split('?').next().unwrap_or_default();
    Ok(Some(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    }))
}

fn line(reader: &mut BufReader<&TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn bytes(reader: &mut BufReader<&TcpStream>, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn chunks(reader: &mut BufReader<&TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(reader)?;
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16).unwrap_or(0);
        body.extend(bytes(reader, size)?);
        line(reader)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Writes a response, and closes the connection: a request that was read ahead would be lost.
pub(crate) fn write(mut stream: &TcpStream, reply: &Reply) -> io::Result<()> {
    match reply {
        Reply::Json(status, body) => {
            let body = body.to_string();
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )?;
        }
        Reply::Events(events) => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n";
            stream.write_all(head.as_bytes())?;
            for (name, data) in events {
                if let Some(name) = name {
                    writeln!(stream, "event: {name}")?;
                }
                write!(stream, "data: {data}\n\n")?;
            }
        }
    }
    stream.flush()?;
    stream.shutdown(std::net::Shutdown::Write)?;
    Err(io::ErrorKind::ConnectionReset.into())
}
