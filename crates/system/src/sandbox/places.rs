//! The built-in lists, and the notation of a place: `~/…`, `$NAME/…`, or relative to the project.

use std::path::{Component, Path, PathBuf};

use super::caches;

/// The facts about the user's session that resolve places.
pub struct UserEnvironment<'a> {
    pub home: Option<&'a str>,
    /// Returns a variable's value.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

pub(super) const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "$TMPDIR"];

/// Devices that a program without privileges uses; disks and memory are not among them.
pub(super) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// The [`DEVICES`] that other processes can read from: terminals, and shared memory.
pub(super) const SHARED_DEVICES: &[&str] = &["/dev/pts", "/dev/shm"];

/// Files and directories of keys, tokens and passwords.
pub(super) const CREDENTIALS: &[&str] = &[
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.oci",
    "~/.kube",
    "~/.docker",
    "~/.podman",
    "~/.netrc",
    "~/.git-credentials",
    "~/.npmrc",
    "~/.yarnrc.yml",
    "~/.pypirc",
    "~/.pip/pip.conf",
    "~/.gem/credentials",
    "~/.local/share/gem/credentials",
    "~/.composer/auth.json",
    "~/.m2/settings.xml",
    "~/.m2/settings-security.xml",
    "~/.gradle/gradle.properties",
    "~/.nuget/NuGet/NuGet.Config",
    "~/.cargo/credentials.toml",
    "~/.cargo/credentials",
    "~/.terraform.d/credentials.tfrc.json",
    "~/.terraformrc",
    "~/.pulumi/credentials.json",
    "~/.fly",
    "~/.s3cfg",
    "~/.boto",
    "~/.pgpass",
    "~/.my.cnf",
    "~/.mylogin.cnf",
    "~/.vault-token",
    "~/.password-store",
    "~/.kaggle",
    "~/.huggingface",
    "~/.cache/huggingface/token",
    "~/.databrickscfg",
    "~/.snowsql",
    "~/.snowflake",
    "~/.mongorc.js",
    "~/.local/share/DBeaverData",
    "~/.ngrok2",
    "~/.cloudflared",
    "~/.wrangler",
    "~/.electrum",
    "~/.bitcoin",
    "~/.ethereum",
    "~/.config/solana",
    "~/.mozilla",
    "~/.librewolf",
    "~/.thunderbird",
    "~/snap/firefox",
    "~/snap/chromium",
    "~/.var/app",
    "~/.local/share/keyrings",
    "~/.local/share/kwalletd",
    "~/.local/share/containers/auth.json",
    "~/.local/share/rattler/credentials.json",
    "~/.rhosts",
    "~/.smbcredentials",
    // Variables move some of them.
    "$CARGO_HOME/credentials.toml",
    "$CARGO_HOME/credentials",
    "$GNUPGHOME",
    "$GH_CONFIG_DIR",
    "$GLAB_CONFIG_DIR",
    "$AWS_CONFIG_FILE",
    "$AWS_SHARED_CREDENTIALS_FILE",
    "$AZURE_CONFIG_DIR",
    "$CLOUDSDK_CONFIG",
    "$GOOGLE_APPLICATION_CREDENTIALS",
    "$KUBECONFIG",
    "$DOCKER_CONFIG",
    "$REGISTRY_AUTH_FILE",
    "$NPM_CONFIG_USERCONFIG",
    "$npm_config_userconfig",
    "$PIP_CONFIG_FILE",
    "$NETRC",
    "$PGPASSFILE",
    "$PASSWORD_STORE_DIR",
    "$SOPS_AGE_KEY_FILE",
    "$RCLONE_CONFIG",
    "$TF_CLI_CONFIG_FILE",
    "$COMPOSER_HOME/auth.json",
    "$GRADLE_USER_HOME/gradle.properties",
    "$HF_TOKEN_PATH",
    "$VAULT_CONFIG_PATH",
];

/// Keys and passwords of the machine and its services, which root alone can read.
pub(super) const SYSTEM_CREDENTIALS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/ipsec.d/private",
    "/etc/swanctl/private",
    "/etc/NetworkManager/system-connections",
    "/etc/netplan",
    "/etc/wpa_supplicant",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/krb5.keytab",
    "/etc/munge",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/cloudflared",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/exim4/passwd.client",
    "/etc/postfix/sasl_passwd",
    "/etc/msmtprc",
    "/etc/mysql/debian.cnf",
    "/etc/gitlab-runner",
    "/run/credentials",
    "/var/backups/gshadow.bak",
    "/var/backups/shadow.bak",
    "/var/lib/bluetooth",
    "/var/lib/cloud",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/docker",
    "/var/lib/iwd",
    "/var/lib/kubelet",
    "/var/lib/rancher",
    "/var/lib/samba/private",
    "/var/lib/sss/db",
    "/var/lib/sss/secrets",
    "/var/lib/systemd/credential.secret",
    "/var/lib/tailscale",
];

/// The directories for settings of all programs.
pub(super) const CONFIG_HOMES: &[&str] = &["~/.config", "$XDG_CONFIG_HOME"];

/// As [`CREDENTIALS`], below [`CONFIG_HOMES`].
pub(super) const CONFIGURED_CREDENTIALS: &[&str] = &[
    "gcloud",
    "gh",
    "op",
    "hub",
    "glab-cli",
    "tea",
    "github-copilot",
    "git/credentials",
    "doctl",
    "fly",
    "oci",
    "rclone",
    "containers/auth.json",
    "sops/age",
    "pip/pip.conf",
    "huggingface",
    "hcloud",
    "linode-cli",
    "scw",
    "vercel",
    "netlify",
    "stripe",
    "heroku",
    "helm/registry",
    "composer/auth.json",
    "age",
    "filezilla",
    "google-chrome",
    "google-chrome-beta",
    "chromium",
    "BraveSoftware",
    "microsoft-edge",
    "vivaldi",
    "opera",
    "Signal",
    "Slack",
    "discord",
    "Bitwarden",
    "Bitwarden CLI",
    "1Password",
    "keepassxc",
    "Code/User/globalStorage",
    "Cursor/User/globalStorage",
];

/// Histories of typed input, which may contain passwords.
pub(super) const HISTORIES: &[&str] = &[
    "~/.bash_history",
    "~/.zsh_history",
    "~/.local/share/fish/fish_history",
    "~/.history",
    "~/.python_history",
    "~/.node_repl_history",
    "~/.psql_history",
    "~/.mysql_history",
    "~/.rediscli_history",
    "~/.sqlite_history",
    "~/.lesshst",
    "~/.viminfo",
];

/// Returns each name below each of `homes`.
pub(super) fn below(homes: &[&str], names: &[&str]) -> Vec<String> {
    let below = homes
        .iter()
        .map(|home| names.iter().map(move |name| format!("{home}/{name}")));
    below.flatten().collect()
}

/// Returns the directories that confined programs in `project` may write to besides it, as their user may: caches and
/// temporary directories.
pub fn shared_writable_places(project: &Path, environment: &UserEnvironment<'_>) -> Vec<PathBuf> {
    let places = shared_caches(project, environment).into_iter();
    let temporary = TEMPORARY.iter();
    let temporary = temporary.filter_map(|place| expanded(place, project, environment));
    places.chain(temporary).collect()
}

/// Returns those of them that are caches.
pub fn shared_caches(project: &Path, environment: &UserEnvironment<'_>) -> Vec<PathBuf> {
    let written = caches::all().flat_map(caches::written);
    written
        .filter_map(|place| expanded(&place, project, environment))
        .collect()
}

/// Returns [`CREDENTIALS`] and those among the settings of all programs.
pub(super) fn credentials() -> Vec<String> {
    let plain = CREDENTIALS.iter().map(|&place| place.to_owned());
    plain.chain(below(CONFIG_HOMES, CONFIGURED_CREDENTIALS)).collect()
}

/// Whether keys, tokens or passwords are in the directory that `written` stands for, or directly below it.
pub fn holds_credentials(written: &str) -> bool {
    credentials().iter().any(|place| Path::new(place).starts_with(written))
}

/// Expands `text` to a path without `.` and `..`; `None` if it begins with a variable that is not set, or with an
/// unknown home directory.
pub fn expanded(text: &str, project: &Path, world: &UserEnvironment<'_>) -> Option<PathBuf> {
    let path = match (text.strip_prefix('~'), text.strip_prefix('$')) {
        (Some(rest), _) if rest.is_empty() || rest.starts_with('/') => {
            PathBuf::from(world.home?).join(rest.trim_start_matches('/'))
        }
        (_, Some(rest)) => {
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let value = (world.variable)(name).filter(|value| value.starts_with('/'))?;
            PathBuf::from(value).join(rest)
        }
        (_, _) => project.join(text),
    };
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_from_the_home_directory_a_variable_or_the_project() {
        let variable = |name: &str| match name {
            "SET" => Some("/srv/x".to_owned()),
            "RELATIVE" => Some("x".to_owned()),
            _ => None,
        };
        let world = UserEnvironment {
            home: Some("/home/me"),
            variable: &variable,
        };
        for (text, path) in [
            ("~", Some("/home/me")),
            ("~/a", Some("/home/me/a")),
            ("~other/a", Some("/p/~other/a")),
            ("$SET", Some("/srv/x")),
            ("$SET/a", Some("/srv/x/a")),
            ("$RELATIVE/a", None),
            ("$UNSET/a", None),
            ("a/../b", Some("/p/b")),
            ("../../..", Some("/")),
            ("/a/./b", Some("/a/b")),
        ] {
            assert_eq!(
                expanded(text, Path::new("/p"), &world),
                path.map(PathBuf::from),
                "{text}"
            );
        }
        let nobody = UserEnvironment { home: None, ..world };
        assert_eq!(expanded("~/a", Path::new("/p"), &nobody), None);
    }
}
