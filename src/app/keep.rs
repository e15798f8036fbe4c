//! What is kept of old runs, and of batches.

use std::time::Duration;

use crate::{config::Config, driver::prune::Keep};

/// What is kept of old runs.
pub(super) fn kept(config: &Config) -> Keep {
    let keep = &config.keep;
    Keep {
        runs: keep.runs,
        age: keep.age_ms.map(Duration::from_millis),
        size_bytes: keep.size_mib.map(|mib| u64::from(mib) << 20),
    }
}
