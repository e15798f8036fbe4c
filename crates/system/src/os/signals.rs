//! The signal dispositions with which ralph is started.

use nix::sys::signal::{SigSet, Signal};
use tokio::signal::unix::{SignalKind, signal};

/// Whether `signal` is ignored, as `nohup` does for the program it starts. Installing a handler would undo that.
///
/// Only Linux tells; on other systems the answer is false.
pub fn is_ignored(signal: Signal) -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, signal))
}

fn ignores(status: &str, signal: Signal) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

/// Restores signals that the parent process may have changed: unblocks all, and stops ignoring SIGCHLD.
///
/// Must be called before any thread is started, because threads inherit the mask.
pub fn restore_defaults() {
    // A parent may block SIGTERM, which would make a ralph that cannot be stopped.
    _ = SigSet::all().thread_unblock(); // cannot fail
    // If SIGCHLD is ignored, the kernel reaps children itself, and no exit code ever arrives. A handler ends that, and
    // stays.
    if is_ignored(Signal::SIGCHLD)
        && let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build()
    {
        _ = runtime.block_on(async { signal(SignalKind::child()) }); // if it fails, there are no checkpoints
    }
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail instead of killing this process silently.
///
/// Must be called before any thread is started, because threads inherit the mask.
pub fn survive_file_size_limit() {
    // Cannot fail: the signal exists and may be blocked.
    _ = SigSet::from_iter([Signal::SIGXFSZ]).thread_block();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read_from_its_line() {
        let status = "Name:\tralph\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert!(ignores(status, Signal::SIGHUP));
        assert!(ignores(status, Signal::SIGPIPE));
        assert!(!ignores(status, Signal::SIGINT));
        assert!(!ignores("", Signal::SIGHUP));
    }

    #[test]
    fn rust_ignores_broken_pipes_and_nothing_else() {
        assert_eq!(is_ignored(Signal::SIGPIPE), cfg!(target_os = "linux"));
        assert!(!is_ignored(Signal::SIGTERM));
    }
}
