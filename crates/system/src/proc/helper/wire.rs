//! Orders of helpers, from ralph to the guard, and the ends of helpers, from the guard to ralph, as JSON.

use std::{
    io::{self, Read},
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
};

use serde::{Deserialize, Serialize};

use super::order::HelperSpec;

/// Announces a helper: a message with its control, its three files and the other ends of its outputs.
pub(super) const HELPER: u8 = b'h';
/// Announces a file that the guard keeps open.
pub(super) const FILE: u8 = b'f';
/// Bytes of the length of an order.
const LENGTH: usize = size_of::<u64>();

/// Returns an order with its length before it.
pub(super) fn written(order: &HelperSpec) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; LENGTH];
    serde_json::to_writer(&mut bytes, order)?;
    let length = (bytes.len() - LENGTH) as u64;
    bytes[..LENGTH].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Reads one order, without waiting for the end of `from`.
pub(super) fn read_order(mut from: impl Read) -> io::Result<HelperSpec> {
    let mut length = [0; LENGTH];
    from.read_exact(&mut length)?;
    let mut json = Vec::new();
    from.take(u64::from_le_bytes(length)).read_to_end(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

/// How a helper ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum HelperEnd {
    Code(i32),
    Signal(i32),
    /// The system's error number.
    NotStarted(i32),
}

impl HelperEnd {
    /// Space for an end.
    pub(super) const BYTES: usize = 64;

    pub(super) fn encode(self) -> Vec<u8> {
        serde_json::to_vec(&self).expect("its parts are numbers")
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
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};

    use super::*;
    use crate::proc::Confinement;

    fn order() -> HelperSpec {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        HelperSpec {
            program: "git".into(),
            args: vec![text(b"a\nb"), text(b""), text(b"\xff\xfe"), text(b"A=B"), text(b"a\0b")],
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

    fn written(order: &HelperSpec) -> Vec<u8> {
        super::written(order).unwrap()
    }

    #[test]
    fn an_order_arrives_as_it_was_given() {
        let order = order();
        assert_eq!(read_order(&written(&order)[..]).unwrap(), order);
        let unbounded = HelperSpec {
            memory_bytes: None,
            confinement: None,
            ..order
        };
        assert_eq!(read_order(&written(&unbounded)[..]).unwrap(), unbounded);
    }

    #[test]
    fn an_order_that_was_cut_is_none() {
        let bytes = written(&order());
        for length in 0..bytes.len() {
            assert!(read_order(&bytes[..length]).is_err());
        }
    }

    #[test]
    fn an_order_is_read_while_its_writer_still_listens() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        io::Write::write_all(&mut &ours, &written(&order())).unwrap();
        assert_eq!(read_order(theirs).unwrap(), order(), "although the other end is open");
        drop(ours);
    }

    #[test]
    fn an_end_arrives_as_it_was_told() {
        for ended in [
            HelperEnd::Code(0),
            HelperEnd::Code(i32::MIN),
            HelperEnd::Signal(9),
            HelperEnd::NotStarted(2),
        ] {
            let bytes = ended.encode();
            assert!(bytes.len() < HelperEnd::BYTES);
            assert_eq!(serde_json::from_slice::<HelperEnd>(&bytes).unwrap(), ended);
        }
        assert_eq!(HelperEnd::Code(3).status().unwrap().code(), Some(3));
        assert_eq!(HelperEnd::Signal(9).status().unwrap().signal(), Some(9));
        assert_eq!(
            HelperEnd::NotStarted(2).status().unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
