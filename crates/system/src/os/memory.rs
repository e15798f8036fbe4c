//! The memory of this machine.

use std::path::Path;

use crate::files::read_text;

const CAP_BYTES: u64 = 1 << 20;

/// Returns the memory that programs here can use, in bytes: that of the machine, or that of the container if it has
/// less. `None` if the system does not tell.
pub fn total_bytes() -> Option<u64> {
    let machine = meminfo(&read_text(Path::new("/proc/meminfo"), CAP_BYTES).ok()?)?;
    // The root of the own control groups, as a container sees it.
    let container = read_text(Path::new("/sys/fs/cgroup/memory.max"), CAP_BYTES).ok();
    let container = container.and_then(|bytes| bytes.trim().parse::<u64>().ok());
    Some(container.map_or(machine, |bytes| bytes.min(machine)))
}

fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_in_bytes() {
        let text = "MemTotal:       24590924 kB\nMemFree:          520000 kB\n";
        assert_eq!(meminfo(text), Some(24_590_924 << 10));
        assert_eq!(meminfo("MemFree: 1 kB\n"), None);
    }
}
