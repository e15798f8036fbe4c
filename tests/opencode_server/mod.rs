//! The adapter for opencode servers: with the real one, and with one that breaks in ways the real one cannot be made to.

mod fake;
mod faults;
mod live;
mod proxy;
mod sharing;
mod turns;

use std::net::{Ipv4Addr, TcpListener};

use crate::harness::{Program, SOON, Sandbox, agents, running::Running};

/// ralph with an opencode server, told to print its records and to be quick about backing off.
fn ralph(sandbox: &Sandbox) -> Program {
    let args = [
        "--adapter",
        "opencode-server",
        "--plan",
        "PLAN.md",
        "--headless",
        "--format",
        "jsonl",
    ];
    sandbox.ralph(args).env("RALPH_BACKOFF_BASE", "10ms")
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// An opencode server that somebody else has started, and its port.
fn serve(sandbox: &Sandbox, password: &str) -> (Running, u16) {
    let port = free_port();
    let program = agents::program("opencode").expect("the sandbox has it");
    let args = ["serve", "--hostname", "127.0.0.1", "--port", &port.to_string()].map(str::to_owned);
    let running = sandbox
        .program(program)
        .args(args)
        .env("OPENCODE_SERVER_PASSWORD", password)
        .start();
    running.wait_for_line(SOON, |line| line.contains("listening on"));
    (running, port)
}
