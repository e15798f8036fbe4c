//! The wire format between ralph and the guard: orders of helpers, and their ends.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        process::ExitStatusExt,
    },
    path::PathBuf,
    process::ExitStatus,
};

use super::order::Order;

/// Announces a helper: a message with its control, its three files and the other ends of its outputs.
pub(super) const HELPER: u8 = b'h';
/// Announces a file that the guard keeps open.
pub(super) const FILE: u8 = b'f';

/// Size of the length that precedes an order.
const LENGTH_BYTES: usize = 8;

/// Encodes an order: its length, then every text followed by a NUL, which no text may contain.
pub(super) fn write_order(order: &Order) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8192);
    bytes.extend([0; LENGTH_BYTES]);
    let count = OsString::from(order.args.len().to_string());
    push(&mut bytes, &[order.cwd.as_os_str()])?;
    push(&mut bytes, &[&order.program])?;
    let memory = order.memory_bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
    push(&mut bytes, &[OsStr::new(&memory)])?;
    push(&mut bytes, &[&count])?;
    for arg in &order.args {
        push(&mut bytes, &[arg])?;
    }
    for (name, value) in &order.environment {
        push(&mut bytes, &[name, OsStr::new("="), value])?;
    }
    let length = (bytes.len() - LENGTH_BYTES) as u64;
    bytes[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Reads an order that [`write_order`] has encoded.
pub(super) fn read_order(mut from: impl Read) -> io::Result<Order> {
    let mut length = [0; LENGTH_BYTES];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut bytes = Vec::new();
    if from.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    decode(&bytes).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn decode(bytes: &[u8]) -> Option<Order> {
    let mut texts = bytes.strip_suffix(&[0])?.split(|&byte| byte == 0);
    let mut text = || Some(OsString::from_vec(texts.next()?.to_vec()));
    let cwd = PathBuf::from(text()?);
    let program = text()?;
    let memory_bytes = match text()?.to_str()? {
        "" => None,
        bytes => Some(bytes.parse().ok()?),
    };
    let count: usize = text()?.to_str()?.parse().ok()?;
    let mut args = Vec::new();
    for _ in 0..count {
        args.push(text()?);
    }
    let environment = texts.map(variable).collect::<Option<_>>()?;
    Some(Order {
        program,
        args,
        cwd,
        environment,
        memory_bytes,
    })
}

fn push(bytes: &mut Vec<u8>, parts: &[&OsStr]) -> io::Result<()> {
    for part in parts {
        if part.as_bytes().contains(&0) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "an argument has a NUL in it",
            ));
        }
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes.push(0);
    Ok(())
}

/// Splits `NAME=VALUE`; a name may begin with `=`.
fn variable(text: &[u8]) -> Option<(OsString, OsString)> {
    let at = 1 + text.get(1..)?.iter().position(|&byte| byte == b'=')?;
    let part = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Some((part(&text[..at]), part(&text[at + 1..])))
}

/// How a helper ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Code(i32),
    Signal(i32),
    /// The system's error number.
    NotStarted(i32),
}

impl Ended {
    pub(super) const BYTES: usize = 5;

    pub(super) fn encode(self) -> [u8; Ended::BYTES] {
        let (kind, number) = match self {
            Ended::Code(code) => (0, code),
            Ended::Signal(signal) => (1, signal),
            Ended::NotStarted(errno) => (2, errno),
        };
        let mut bytes = [kind; Ended::BYTES];
        bytes[1..].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    /// Decodes the result of [`Ended::encode`]; `None` for any other bytes.
    pub(super) fn decode(bytes: [u8; Ended::BYTES]) -> Option<Ended> {
        let [kind, number @ ..] = bytes;
        let number = i32::from_le_bytes(number);
        match kind {
            0 => Some(Ended::Code(number)),
            1 => Some(Ended::Signal(number)),
            2 => Some(Ended::NotStarted(number)),
            _ => None,
        }
    }

    /// Returns the end as the system reports it to a parent.
    ///
    /// # Errors
    /// The reason why it could not be started.
    pub(super) fn status(self) -> io::Result<ExitStatus> {
        match self {
            Ended::Code(code) => Ok(ExitStatus::from_raw((code & 0xff) << 8)),
            Ended::Signal(signal) => Ok(ExitStatus::from_raw(signal & 0x7f)),
            Ended::NotStarted(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Order {
            program: "git".into(),
            args: vec![text(b"a\nb"), text(b""), text(b"\xff\xfe"), text(b"A=B")],
            cwd: "/tmp".into(),
            environment: vec![
                (text(b"NAME"), text(b"va=lue\n")),
                (text(b"=odd"), text(b"")),
                (text(b"EMPTY"), text(b"")),
            ],
            memory_bytes: Some(1 << 40),
        }
    }

    #[test]
    fn an_order_arrives_as_it_was_given() {
        let order = order();
        assert_eq!(read_order(&write_order(&order).unwrap()[..]).unwrap(), order);
        let unbounded = Order {
            memory_bytes: None,
            ..order
        };
        assert_eq!(read_order(&write_order(&unbounded).unwrap()[..]).unwrap(), unbounded);
    }

    #[test]
    fn an_order_that_was_cut_is_none() {
        let bytes = write_order(&order()).unwrap();
        for length in 0..bytes.len() {
            assert!(read_order(&bytes[..length]).is_err());
        }
    }

    #[test]
    fn a_text_with_a_nul_in_it_is_refused() {
        let order = Order {
            args: vec!["a\0b".into()],
            ..order()
        };
        assert_eq!(write_order(&order).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn an_end_arrives_as_it_was_told() {
        for ended in [Ended::Code(0), Ended::Code(255), Ended::Signal(9), Ended::NotStarted(2)] {
            assert_eq!(Ended::decode(ended.encode()), Some(ended));
        }
        assert_eq!(Ended::decode([7; Ended::BYTES]), None);
        assert_eq!(Ended::Code(3).status().unwrap().code(), Some(3));
        assert_eq!(Ended::Signal(9).status().unwrap().signal(), Some(9));
        assert_eq!(
            Ended::NotStarted(2).status().unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
