//! TOML files that describe runners, and the errors in them.

use std::{error::Error, fmt};

use serde::de::DeserializeOwned;
use toml::Spanned;

/// The text of a file, with its name for errors.
pub(crate) struct DataFile<'t> {
    pub(crate) name: String,
    pub(crate) text: &'t str,
}

impl DataFile<'_> {
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, DataFileError> {
        toml::from_str(self.text).map_err(|error| {
            let offset = error.span().map(|span| span.start);
            self.error(offset, error.message().to_owned())
        })
    }

    /// Returns an error in the line of a byte offset.
    pub(crate) fn error(&self, offset: Option<usize>, message: String) -> DataFileError {
        let line = offset.and_then(|offset| Some(self.text.get(..offset)?.matches('\n').count() + 1));
        DataFileError {
            file: self.name.clone(),
            line,
            message,
        }
    }

    /// Returns an error in the line of a value.
    pub(crate) fn error_at<T>(&self, value: &Spanned<T>, message: String) -> DataFileError {
        self.error(Some(value.span().start), message)
    }
}

/// An error in a file of a runner: its location, and the allowed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFileError {
    /// The name of the file, or of the runner that it describes.
    pub file: String,
    /// Counted from 1.
    pub line: Option<usize>,
    message: String,
}

impl fmt::Display for DataFileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(formatter, ", line {line}")?;
        }
        write!(formatter, ": {}", self.message)
    }
}

impl Error for DataFileError {}
