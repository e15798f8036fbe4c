//! Small changes that tests should notice.
