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

use super::order::HelperSpec;

/// Announces a helper: a message with its control, its three files and the other ends of its outputs.
pub(super) const HELPER: u8 = b'h';
/// Announces a file that the guard keeps open.
pub(super) const FILE: u8 = b'f';

/// Size of the length that precedes an order.
const LENGTH_BYTES: usize = 8;

/// Encodes an order: its length, then every text followed by a NUL, which no text may contain.
pub(super) fn write_order(order: &HelperSpec) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8192);
    bytes.extend([0; LENGTH_BYTES]);
    let count = OsString::from(order.args.len().to_string());
    push(&mut bytes, &[order.cwd.as_os_str()])?;
    push(&mut bytes, &[&order.program])?;
    let memory = order.memory_bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
    push(&mut bytes, &[OsStr::new(&memory)])?;
    let confinement = order.confinement.as_ref().map(serde_json::to_string).transpose()?;
    push(&mut bytes, &[OsStr::new(&confinement.unwrap_or_default())])?;
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
pub(super) fn read_order(mut from: impl Read) -> io::Result<HelperSpec> {
    let mut length = [0; LENGTH_BYTES];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut bytes = Vec::new();
    if from.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    decode(&bytes).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn decode(bytes: &[u8]) -> Option<HelperSpec> {
    let mut texts = bytes.strip_suffix(&[0])?.split(|&byte| byte == 0);
    let mut text = || Some(OsString::from_vec(texts.next()?.to_vec()));
    let cwd = PathBuf::from(text()?);
    let program = text()?;
    let memory_bytes = match text()?.to_str()? {
        "" => None,
        bytes => Some(bytes.parse().ok()?),
    };
    let confinement = match text()?.to_str()? {
        "" => None,
        json => Some(serde_json::from_str(json).ok()?),
    };
    let count: usize = text()?.to_str()?.parse().ok()?;
    let mut args = Vec::new();
    for _ in 0..count {
        args.push(text()?);
    }
    let environment = texts.map(variable).collect::<Option<_>>()?;
    Some(HelperSpec {
        program,
        args,
        cwd,
        environment,
        memory_bytes,
        confinement,
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
pub(super) enum HelperEnd {
    Code(i32),
    Signal(i32),
    /// The system's error number.
    NotStarted(i32),
}

impl HelperEnd {
    pub(super) const BYTES: usize = 5;

    pub(super) fn encode(self) -> [u8; HelperEnd::BYTES] {
        let (kind, number) = match self {
            HelperEnd::Code(code) => (0, code),
            HelperEnd::Signal(signal) => (1, signal),
            HelperEnd::NotStarted(errno) => (2, errno),
        };
        let mut bytes = [kind; HelperEnd::BYTES];
        bytes[1..].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    /// Decodes the result of [`HelperEnd::encode`]; `None` for any other bytes.
    pub(super) fn decode(bytes: [u8; HelperEnd::BYTES]) -> Option<HelperEnd> {
        let [kind, number @ ..] = bytes;
        let number = i32::from_le_bytes(number);
        match kind {
            0 => Some(HelperEnd::Code(number)),
            1 => Some(HelperEnd::Signal(number)),
            2 => Some(HelperEnd::NotStarted(number)),
            _ => None,
        }
    }

    /// Returns the end as the system reports it to a parent.
    ///
    /// # Errors
    /// The reason why it could not be started.
    pub(super) fn status(self) -> io::Result<ExitStatus> {
        match self {
            HelperEnd::Code(code) => Ok(ExitStatus::from_raw((code & 0xff) << 8)),
            HelperEnd::Signal(signal) => Ok(ExitStatus::from_raw(signal & 0x7f)),
            HelperEnd::NotStarted(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::Confinement;

    fn order() -> HelperSpec {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        HelperSpec {
            program: "git".into(),
            args: vec![text(b"a\nb"), text(b""), text(b"\xff\xfe"), text(b"A=B")],
            cwd: "/tmp".into(),
            environment: vec![
                (text(b"NAME"), text(b"va=lue\n")),
                (text(b"=odd"), text(b"")),
                (text(b"EMPTY"), text(b"")),
            ],
            memory_bytes: Some(1 << 40),
            confinement: Some(Confinement {
                write: vec!["/tmp".into()],
                read: Vec::new(),
                hidden: Vec::new(),
                unlisted: Vec::new(),
                required: true,
                abi: None,
                network: None,
                variables: Vec::new(),
            }),
        }
    }

    #[test]
    fn an_order_arrives_as_it_was_given() {
        let order = order();
        assert_eq!(read_order(&write_order(&order).unwrap()[..]).unwrap(), order);
        let unbounded = HelperSpec {
            memory_bytes: None,
            confinement: None,
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
        let order = HelperSpec {
            args: vec!["a\0b".into()],
            ..order()
        };
        assert_eq!(write_order(&order).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn an_end_arrives_as_it_was_told() {
        for ended in [
            HelperEnd::Code(0),
            HelperEnd::Code(255),
            HelperEnd::Signal(9),
            HelperEnd::NotStarted(2),
        ] {
            assert_eq!(HelperEnd::decode(ended.encode()), Some(ended));
        }
        assert_eq!(HelperEnd::decode([7; HelperEnd::BYTES]), None);
        assert_eq!(HelperEnd::Code(3).status().unwrap().code(), Some(3));
        assert_eq!(HelperEnd::Signal(9).status().unwrap().signal(), Some(9));
        assert_eq!(
            HelperEnd::NotStarted(2).status().unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
