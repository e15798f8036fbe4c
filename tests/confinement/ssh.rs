//! `git push` over ssh from a sandbox, with a real sshd and a real ssh-agent: keys stay hidden, and the agent that holds
//! them is reached only if a setting names it.

use std::{
    env, fs,
    io::Write,
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::unistd::getuid;
use ralph_core::event::Record;

use super::{has_landlock, noticed};
use crate::harness::{Program, SOON, Sandbox, Script, agents::skipped, wait_until};

/// Set to `required`, it turns a missing sshd into a failure.
const POLICY: &str = "RALPH_TEST_SSH";
const SSHD: &str = "/usr/sbin/sshd";

/// A program that is ended with the test.
struct Server(Child);

impl Server {
    fn start(command: &mut Command) -> Server {
        Server(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.0.kill(); // it may have ended
        _ = self.0.wait();
    }
}

fn key(sandbox: &Sandbox, file: &Path) -> String {
    let file = file.display().to_string();
    let made = sandbox
        .program("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f", &file])
        .run(SOON);
    assert_eq!(made.code(), Some(0), "{made:?}");
    fs::read_to_string(format!("{file}.pub")).unwrap()
}

/// Starts an sshd that accepts the user's key, and makes the host `bare` stand for it.
fn start_sshd(sandbox: &Sandbox) -> Option<Server> {
    if !Path::new(SSHD).exists() {
        assert!(env::var(POLICY).is_err(), "{SSHD} is required");
        skipped("a test over ssh: no sshd is installed");
        return None;
    }
    let home = sandbox.home();
    let ssh = home.join(".ssh");
    fs::create_dir(&ssh).unwrap();
    let own_key = key(sandbox, &ssh.join("id_ed25519"));
    let host_key = key(sandbox, &home.join("host_key"));
    fs::write(home.join("authorized"), own_key).unwrap();
    if getuid().is_root() {
        fs::create_dir_all("/run/sshd").unwrap();
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {0}/host_key\nAuthorizedKeysFile {0}/authorized\nStrictModes no\n\
         UsePAM no\nPidFile none\nPermitRootLogin yes\n",
        home.display()
    );
    fs::write(home.join("sshd_config"), settings).unwrap();
    let server = Server::start(Command::new(SSHD).arg("-D").arg("-f").arg(home.join("sshd_config")));
    wait_until(SOON, "answer of sshd", || TcpStream::connect(("127.0.0.1", port)).ok());
    fs::write(ssh.join("known_hosts"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
    // ssh looks for its files in the home directory of the account, which is not that of the test.
    let client = format!(
        "Host bare\n HostName 127.0.0.1\n Port {port}\n UserKnownHostsFile {0}/known_hosts\n IdentityFile {0}/id_ed25519\n",
        ssh.display()
    );
    fs::write(ssh.join("config"), client).unwrap();
    Some(server)
}

/// Starts an ssh-agent at `socket` that holds the user's key.
fn hold_key(sandbox: &Sandbox, socket: &Path) -> Server {
    let agent = Server::start(Command::new("ssh-agent").arg("-D").arg("-a").arg(socket));
    // The socket is there before the agent listens at it.
    wait_until(SOON, "ssh-agent", || UnixStream::connect(socket).ok());
    let added = sandbox
        .program("ssh-add")
        .args(["-q".as_ref(), sandbox.home().join(".ssh/id_ed25519").as_os_str()])
        .env("SSH_AUTH_SOCK", socket)
        .run(SOON);
    assert_eq!(added.code(), Some(0), "{added:?}");
    agent
}

/// A repository behind an sshd, which is the project's `origin`, and an ssh-agent that holds the user's key.
pub(crate) struct SshOrigin {
    bare: PathBuf,
    socket: PathBuf,
    _servers: [Server; 2],
}

impl SshOrigin {
    /// `None` if no sshd is installed.
    pub(crate) fn serve(sandbox: &Sandbox) -> Option<SshOrigin> {
        let home = sandbox.home();
        let sshd = start_sshd(sandbox)?;
        let (socket, bare) = (home.join("agent"), home.join("bare.git"));
        let agent = hold_key(sandbox, &socket);
        sandbox.git(["init", "--quiet", "--bare", &bare.display().to_string()]);
        sandbox.git(["remote", "add", "origin", &format!("ssh://bare{}", bare.display())]);
        let ssh = format!("ssh -o BatchMode=yes -F {}", home.join(".ssh/config").display());
        sandbox.git(["config", "--global", "core.sshCommand", &ssh]);
        Some(SshOrigin {
            bare,
            socket,
            _servers: [sshd, agent],
        })
    }

    /// A ralph that knows the ssh-agent. `sockets` is the setting `sandbox.sockets`.
    pub(crate) fn known_to(&self, ralph: Program, sockets: &str) -> Program {
        ralph
            .env("SSH_AUTH_SOCK", &self.socket)
            .env("RALPH_SANDBOX_SOCKETS", sockets)
    }

    /// The commit of a branch there, with the end of its line.
    pub(crate) fn commit(&self, branch: &str) -> Option<String> {
        fs::read_to_string(self.bare.join("refs/heads").join(branch)).ok()
    }
}

/// The names of the refused sockets, as the setting `sandbox.sockets` has them.
pub(crate) fn refused_sockets(records: &[Record]) -> Vec<&str> {
    let refused = noticed(records).filter(|notice| notice.code == "socket-refused");
    refused
        .filter_map(|notice| notice.data.get("name").map(|name| &**name))
        .collect()
}

#[test]
fn a_push_over_ssh_works_with_the_setting_that_the_first_refusal_names_and_keys_stay_hidden() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    let Some(origin) = SshOrigin::serve(&sandbox) else {
        return;
    };
    let home = sandbox.home();
    for (key, value) in [
        ("commit.gpgsign", "true"),
        ("gpg.format", "ssh"),
        (
            "user.signingkey",
            &home.join(".ssh/id_ed25519.pub").display().to_string(),
        ),
    ] {
        sandbox.git(["config", "--global", key, value]);
    }
    // No key is reached while the plan is committed.
    sandbox.git(["config", "--local", "commit.gpgsign", "false"]);
    sandbox.plan(1);
    sandbox.git(["config", "--local", "--unset", "commit.gpgsign"]);
    let is_signed = || {
        sandbox
            .git(["cat-file", "commit", "HEAD"])
            .contains("BEGIN SSH SIGNATURE")
    };
    let body =
        "work; git push origin HEAD:refs/heads/made 2> push.log; cat ~/.ssh/id_ed25519 > key 2> key.log; over done";
    sandbox.install(&Script::jsonl(body));
    let run = |sockets: &str| {
        let arguments = [
            "--adapter",
            "script",
            "--sandbox",
            "on",
            "--headless",
            "--format",
            "jsonl",
        ];
        let finished = origin.known_to(sandbox.ralph(arguments), sockets).run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert_eq!(sandbox.read("key").as_deref(), Some(""), "the key is hidden");
        finished.records()
    };
    let is_pushed = || origin.commit("made").is_some();

    let refused = run("");
    assert!(!is_pushed() && !is_signed());
    assert!(noticed(&refused).any(|notice| notice.code == "commits-unsigned" && notice.text.contains("ssh-agent")));
    assert_eq!(
        refused_sockets(&refused),
        ["ssh-agent"],
        "{:?}",
        sandbox.read("push.log")
    );

    let mut plan = fs::OpenOptions::new()
        .append(true)
        .open(sandbox.project().join("PLAN.md"))
        .unwrap();
    plan.write_all(b"- [ ] More\n").unwrap();
    run("ssh-agent");
    assert!(is_pushed() && is_signed(), "{:?}", sandbox.read("push.log"));
}
