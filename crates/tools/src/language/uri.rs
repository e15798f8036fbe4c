//! Converts between paths and the URIs of the protocol. Pure.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

const SCHEME: &str = "file://";

/// All bytes but letters, digits and these.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

pub(super) fn from_path(path: &Path) -> String {
    format!("{SCHEME}{}", percent_encode(path.as_os_str().as_bytes(), ESCAPED))
}

/// The path of a file URI, with any of its characters percent-encoded; `None` if it is not a file.
pub(super) fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix(SCHEME)?;
    let path = &rest[rest.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let [first, rest @ ..] = left {
        let (byte, rest) = match (first, rest) {
            (b'%', [high, low, rest @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                let (high, low) = (digit(high)?, digit(low)?);
                (u8::try_from(high * 16 + low).ok()?, rest)
            }
            (byte, rest) => (*byte, rest),
        };
        bytes.push(byte);
        left = rest;
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_comes_back_from_its_address_however_a_server_writes_it() {
        for path in ["/a/b c/ü#?%.rs", "/", "/x+y@z"] {
            assert_eq!(to_path(&from_path(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(to_path("file:///a/%C3%BC/b@c"), Some(PathBuf::from("/a/ü/b@c")));
        assert_eq!(to_path("file://localhost/a"), Some(PathBuf::from("/a")));
        for none in ["jdt://x/y", "file:", "file:///a%zz", "untitled:1", ""] {
            assert_eq!(to_path(none), None, "{none}");
        }
    }
}
