//! The settings that decide which old runs and batches are kept.

use std::time::Duration;

use ralph_review::prune::RetentionLimits;

use crate::config::Config;

/// Reads the limits for old runs from the settings.
pub(super) fn kept(config: &Config) -> RetentionLimits {
    let keep = &config.keep;
    RetentionLimits {
        runs: keep.runs,
        age: keep.age_ms.map(Duration::from_millis),
        size_bytes: keep.size_mib.map(|mib| u64::from(mib) << 20),
    }
}
