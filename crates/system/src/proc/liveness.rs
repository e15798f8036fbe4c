//! How much a tree has done: the CPU time of its processes, dead or alive.

use std::time::Duration;

use nix::unistd::Pid;

use super::{system, tree};

/// Adds up the CPU time of a tree, reading after reading.
///
/// The sum over a tree can fall: the time of a child whose parent ignores `SIGCHLD` is lost once it has ended. A fall
/// counts as zero, so the meter itself never falls, and misses at most the time of such a child.
#[derive(Debug, Default)]
pub(super) struct CpuMeter {
    last: Duration,
    total: Duration,
}

impl CpuMeter {
    /// Reads the CPU time of `root` and its descendants. Returns the total.
    pub(super) fn read(&mut self, root: Pid) -> Duration {
        self.take(tree_cpu(root))
    }

    /// Returns the total up to the last reading.
    pub(super) fn total(&self) -> Duration {
        self.total
    }

    fn take(&mut self, now: Duration) -> Duration {
        self.total += now.saturating_sub(self.last);
        self.last = now;
        self.total
    }
}

fn tree_cpu(root: Pid) -> Duration {
    let own = system::process(root).map_or(Duration::ZERO, |process| process.cpu);
    own + tree::descendants(root)
        .iter()
        .map(|process| process.cpu)
        .sum::<Duration>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_never_falls_and_counts_what_comes_after_a_fall() {
        let ms = Duration::from_millis;
        let mut meter = CpuMeter::default();
        assert_eq!(meter.take(ms(50)), ms(50));
        assert_eq!(meter.take(ms(20)), ms(50));
        assert_eq!(meter.take(ms(30)), ms(60));
        assert_eq!(meter.total(), ms(60));
    }

    #[test]
    fn a_process_that_works_moves_its_meter() {
        let mut meter = CpuMeter::default();
        let here = nix::unistd::getpid();
        let before = meter.read(here);
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while meter.read(here) == before {
            assert!(
                std::time::Instant::now() < deadline,
                "twenty seconds of work left no trace"
            );
        }
    }
}
