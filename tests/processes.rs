#[test]
fn smoke() {
    use ralph::proc::*;
    use std::time::*;
    struct O(std::sync::mpsc::Sender<(Vec<u8>, Option<End>)>);
    impl Output for O {
        fn terminal(&mut self, b: &[u8]) {
            self.0.send((b.to_vec(), None)).unwrap();
        }
        fn stdout(&mut self, b: &[u8]) {
            self.0.send((b.to_vec(), None)).unwrap();
        }
        fn ended(&mut self, e: End) {
            self.0.send((vec![], Some(e))).unwrap();
        }
    }
    for (p, a) in [
        ("/bin/true", vec![]),
        ("/bin/true", vec![]),
        ("/bin/sh", vec!["-c", "tty; echo hi; sleep 0.1; kill -9 $$"]),
        ("/etc/passwd", vec![]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (tx, rx) = std::sync::mpsc::channel();
        let t = Instant::now();
        let c = spawn(
            Launch {
                program: p.into(),
                args: a.into_iter().map(Into::into).collect(),
                cwd: "/tmp".into(),
                env: vec![],
                env_remove: vec![],
                stdin: Stdin::Null,
                stdout: Stdout::Piped,
                size: Size { cols: 80, rows: 24 },
                ladder: Ladder {
                    first: StopSignal::Interrupt,
                    grace: Duration::from_secs(1),
                },
                run_id: "x".into(),
                scratch: dir.path().into(),
                guard: Some(env!("CARGO_BIN_EXE_ralph").into()),
            },
            Box::new(O(tx)),
        )
        .unwrap();
        while let Ok((b, e)) = rx.recv_timeout(Duration::from_secs(10)) {
            let _ = (t.elapsed(), b, e);
        }
        drop(c);
    }
}
