//! The adapter for opencode servers: with the real server, and with a fake that breaks in ways the real one cannot.

mod fake;
mod faults;
mod live;
mod proxy;
mod sharing;
mod turns;

use crate::{
    agents_loop,
    harness::{Program, SOON, Sandbox, agent::Agent, agents, http::free_port, running::Running},
};

/// ralph with an opencode server, as in the tests of all agents.
fn ralph(sandbox: &Sandbox) -> Program {
    agents_loop::ralph(Agent::OpencodeServer, sandbox)
}

/// An opencode server that ralph did not start, and its port.
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
