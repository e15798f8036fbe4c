//! The table of attempts.

/// Whether an attempt has to succeed; `None` if that depends on the kernel.
pub(super) type RequiredResult = Option<bool>;

const YES: RequiredResult = Some(true);
const NO: RequiredResult = Some(false);
const EITHER: RequiredResult = None;

/// Attempts of each confined process, and their results in the modes `on` and `strict`. `$outside` is a directory of
/// the user, `$here` a server on this machine that is listed as a host, and `$there` one that is not listed.
pub(super) const ATTEMPTS: [(&str, &str, RequiredResult, RequiredResult); 61] = [
    ("write-project", "echo x > made.txt", YES, YES),
    (
        "git",
        "git add made.txt && git commit -q --allow-empty -m made",
        YES,
        YES,
    ),
    ("write-temporary", "echo x > $TMPDIR/x && rm $TMPDIR/x", YES, YES),
    (
        "write-shared-temporary",
        "echo x > /tmp/ralph-$$ && rm /tmp/ralph-$$",
        YES,
        NO,
    ),
    (
        "write-cache",
        "mkdir -p $XDG_CACHE_HOME/pip/a && echo x > $XDG_CACHE_HOME/pip/a/b",
        YES,
        YES,
    ),
    (
        "write-shared-cache",
        "mkdir -p ~/.cache/pip/a && echo x > ~/.cache/pip/a/b",
        YES,
        NO,
    ),
    (
        "devices",
        "echo x > /dev/null && head -c 1 /dev/urandom > /dev/null",
        YES,
        YES,
    ),
    ("read-user", "cat $outside/readable", YES, YES),
    ("own-children", "sleep 60 & kill $!", YES, YES),
    ("read-history", "cat ~/.bash_history", YES, NO),
    ("write-outside", "echo x > $outside/made", NO, NO),
    ("append-outside", "echo x >> $outside/readable", NO, NO),
    (
        "remove-outside",
        "rm -f $outside/readable; test ! -e $outside/readable",
        NO,
        NO,
    ),
    ("truncate-outside", ": > $outside/readable", NO, NO),
    ("read-key", "cat ~/.ssh/id", NO, NO),
    ("read-passwords-of-machine", "cat /etc/shadow", NO, NO),
    ("read-key-in-settings", "cat ~/.config/hub", NO, NO),
    ("read-key-moved-by-variable", "cat $outside/passwords", NO, NO),
    (
        "write-what-shells-run",
        "mkdir -p ~/.cache && echo x > ~/.cache/p10k-instant-prompt-me.zsh",
        NO,
        NO,
    ),
    (
        "write-what-builds-run",
        "mkdir -p ~/.gradle/init.d && echo x > ~/.gradle/init.d/x.gradle",
        NO,
        NO,
    ),
    ("read-key-by-link", "ln -sf ~/.ssh/id link; cat link", NO, NO),
    ("link-key", "ln ~/.ssh/id hard", NO, NO),
    ("move-key", "mv ~/.ssh/id moved", NO, NO),
    ("read-key-by-process", "cat /proc/$guard/root$HOME/.ssh/id", NO, NO),
    (
        "read-records",
        "cat $XDG_STATE_HOME/ralph/*/runs/*/events.jsonl",
        NO,
        NO,
    ),
    (
        "detached",
        "setsid sh -c 'echo x > $outside/made' & wait; test -e $outside/made",
        NO,
        NO,
    ),
    ("kill-guard", "kill -0 $guard", NO, NO),
    ("environment-of-guard", "cat /proc/$guard/environ", NO, NO),
    ("memory-of-guard", "head -c 1 /proc/$guard/mem", NO, NO),
    // Only root may create a block device, and could then write anything to it.
    ("make-disk", "mknod disk b 7 0", NO, NO),
    // Root may read disks without a sandbox.
    (
        "read-disk",
        "disk=$(find /dev -maxdepth 1 -type b | head -n 1); test -n \"$disk\" && head -c 1 $disk > /dev/null",
        NO,
        NO,
    ),
    ("mount", "mkdir -p m && unshare -rm mount --bind ~/.ssh m", NO, NO),
    // The sandbox does not cover metadata of the user's files: an honest limit.
    ("chmod-outside", "chmod 640 $outside/readable", YES, YES),
    ("pair", "reach pair", YES, YES),
    ("http-listed", "reach http http://$here/", YES, YES),
    ("http-not-listed", "reach http http://$there/", YES, NO),
    ("http-metadata", "reach http http://169.254.169.254/latest/", NO, NO),
    ("tcp-listed", "reach tcp $here", YES, YES),
    ("tcp", "reach tcp $there", YES, NO),
    (
        "tcp-detached",
        "setsid env -i \"$HOME/reach\" \"reach tcp $there\"",
        YES,
        NO,
    ),
    ("tcp-fast-open", "reach fast-open $here", YES, NO),
    ("mptcp", "reach mptcp", EITHER, NO),
    ("udp", "reach udp $here", YES, NO),
    ("raw", "reach raw", NO, NO),
    ("netlink", "reach netlink", YES, NO),
    ("vsock", "reach vsock", EITHER, NO),
    // Landlock alone would allow it, since the port is that of the proxy.
    (
        "tcp-port-of-proxy",
        "test -n \"$HTTPS_PROXY\" || exit 1; port=${HTTPS_PROXY##*:}; : > port-$port; until test -e $outside/bound-$port; do sleep 0.01; done; reach tcp 127.0.0.2:$port",
        EITHER,
        NO,
    ),
    ("own-server", "reach own-server 0.0.0.0:0", YES, YES),
    ("own-server-unbound", "reach own-server-unbound", YES, YES),
    ("own-socket", "cd $(mktemp -d) && reach own-socket socket", YES, YES),
    ("socket-path", "reach path $outside/socket", NO, NO),
    (
        "socket-by-link",
        "ln -sf $outside/socket sock && reach path sock",
        NO,
        NO,
    ),
    ("socket-abstract", "reach abstract $abstract", NO, NO),
    ("datagram-pair", "reach datagram-pair $outside/log", NO, NO),
    ("io-uring", "reach io-uring", NO, NO),
    (
        "keys-of-kernel",
        "perl -e \"exit(syscall($keyctl, 0, -4, 0) < 0)\"",
        NO,
        NO,
    ),
    ("limit-of-guard", "prlimit --pid $guard --fsize=1000000000", NO, NO),
    (
        "limit-of-child",
        "sleep 60 & prlimit --pid $! --nofile=64:64 && renice -n 5 -p $! && kill $!",
        YES,
        YES,
    ),
    ("priority-of-guard", "renice -n 5 -p $guard", NO, NO),
    (
        "shared-memory",
        "perl -e '$id = shmget(0, 9, 01600); exit(!(shmread($id, $b, 0, 1) && shmctl($id, 0, 0)))'",
        YES,
        YES,
    ),
    (
        "shared-memory-of-user",
        "perl -e \"exit(!shmread($memory, \\$b, 0, 1))\"",
        NO,
        NO,
    ),
];

/// Finds the guard above the script, which ends all processes that it guards, and defines `reach`, a program that knows
/// ways out.
pub(super) const PRELUDE: &str = r#"guard=$$; while [ "$(cat /proc/$guard/comm)" != ralph-guard ]; do guard=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$guard/status); done
reach() { "$HOME/reach" "reach $1 $2"; }
"#;
