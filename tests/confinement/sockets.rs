//! Sockets in a directory that `sandbox.sockets` names and the sandbox writes to, as gpg's is: those that were bound there
//! are reached, and others that were moved there are not, in any later start either.

use std::os::unix::net::UnixListener;

use super::has_landlock;
use crate::harness::{SOON, Sandbox};

#[test]
fn a_socket_that_was_moved_to_an_allowed_place_stays_closed() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    let open = sandbox.home().join("open");
    std::fs::create_dir(&open).unwrap();
    let _allowed = UnixListener::bind(open.join("allowed")).unwrap();
    let _other = UnixListener::bind(sandbox.project().join("other")).unwrap();
    let run = |script: &str| {
        let finished = sandbox
            .ralph(["--sandbox", "on", "sandbox", "run", "--", "sh", "-c", script])
            .env("RALPH_SANDBOX_SOCKETS", &open)
            .env("RALPH_SANDBOX_WRITE", &open)
            .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
            .env("PLACE", &open)
            .run(SOON);
        finished.code() == Some(0)
    };
    assert!(run("\"$FAKE_AGENT\" \"reach path $PLACE/allowed\""));
    assert!(run("mv other \"$PLACE\""));
    assert!(!run("\"$FAKE_AGENT\" \"reach path $PLACE/other\""));
    // The name of the allowed one does not make it another.
    assert!(run("mv \"$PLACE/other\" \"$PLACE/allowed\""));
    assert!(!run("\"$FAKE_AGENT\" \"reach path $PLACE/allowed\""));
}
