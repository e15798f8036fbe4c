//! Starts, watches, confines and ends processes, and reads and writes files that others change as well.

#![deny(unreachable_pub)]

pub mod diagnostics;
pub mod faults;
pub mod files;
pub mod os;
pub mod paths;
pub mod proc;
pub mod proxy;
pub mod real_paths;
pub mod sandbox;
pub mod scratch;
pub mod tree_copy;
pub mod workers;
