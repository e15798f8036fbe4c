//! git's output, whose file names come from anybody.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ralph_git::read_any_output(bytes));
