//! Manifests: of adapters and of test runners.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_agent::catalog;
use ralph_gate::runner::Runner;

fuzz_target!(|text: &str| {
    if let Err(error) = catalog::manifest_of_text("any", text) {
        assert!(!error.to_string().is_empty());
    }
    if let Err(error) = Runner::parse("any", text) {
        assert!(!error.to_string().is_empty());
    }
});
