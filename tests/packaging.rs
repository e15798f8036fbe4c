//! The parts of a release: the archive, its installers, and the files that `cargo package` would upload.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    thread,
};

use serde_json::Value;

use crate::harness::{SOON, Sandbox, agents::needs, running::Finished, skipped, write_program};

/// crates.io accepts 10 MiB.
const CRATE_CAP_BYTES: u64 = 9 << 20;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Serves the files of a directory, as a release does, until the tests end. Returns the URL.
fn serve(directory: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = String::new();
            let mut reader = BufReader::new(stream.try_clone().expect("a connection"));
            _ = reader.read_line(&mut request);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                line.clear();
            }
            let path = request.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match fs::read(directory.join(path.trim_start_matches('/'))) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

/// Builds a release archive for this machine in the sandbox, with a small program as its binary. Returns the release
/// directory and the name of the archive.
fn release(sandbox: &Sandbox) -> (PathBuf, String) {
    let ralph = sandbox.home().join("ralph");
    let starts = env!("CARGO_BIN_EXE_ralph");
    write_program(&ralph, &format!("#!/bin/sh\nexec {starts} \"$@\"\n"));
    let system = match env::consts::OS {
        "macos" => "apple-darwin",
        _ => "unknown-linux-musl",
    };
    let target = format!("{}-{system}", env::consts::ARCH);
    let directory = sandbox.home().join("release");
    let archive = root().join("packaging/archive.sh");
    let made = sandbox
        .program("sh")
        .arg(archive)
        .arg(&ralph)
        .arg(&target)
        .arg(&directory)
        .run(SOON);
    assert_eq!(made.code(), Some(0), "{made:?}");
    let summed = sandbox
        .program("sh")
        .args(["-c", "(sha256sum *.tar.gz || shasum -a 256 *.tar.gz) > SHA256SUMS"])
        .current_dir(&directory)
        .run(SOON);
    assert_eq!(summed.code(), Some(0), "{summed:?}");
    (directory, format!("ralph-{target}.tar.gz"))
}

/// Changes the archive and leaves its checksum.
fn tamper(archive: &Path) {
    let mut bytes = fs::read(archive).expect("an archive");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(archive, bytes).expect("an archive");
}

#[test]
fn the_installer_installs_an_archive_that_is_what_its_sum_says_and_no_other() {
    needs!("curl");
    let sandbox = Sandbox::new();
    let (release, archive) = release(&sandbox);
    let address = serve(release.clone());
    let directory = sandbox.home().join("bin");
    let install = || -> Finished {
        let script = root().join("packaging/install.sh");
        let program = sandbox.program("sh").arg(script).env("RALPH_DOWNLOAD_URL", &address);
        program.env("RALPH_INSTALL_DIR", &directory).run(SOON)
    };
    let installed = install();
    assert_eq!(installed.code(), Some(0), "{installed:?}");
    assert!(installed.stdout.starts_with("installed ralph "), "{installed:?}");
    assert!(installed.stderr.contains("is not on your PATH"), "{installed:?}");
    let version = sandbox.program(directory.join("ralph")).arg("--version").run(SOON);
    assert!(version.stdout.contains(env!("CARGO_PKG_VERSION")), "{version:?}");
    let listed = sandbox
        .program("tar")
        .arg("-tzf")
        .arg(release.join(&archive))
        .run(SOON)
        .stdout;
    for part in [
        "/ralph\n",
        "/completions/_ralph\n",
        "/man/man1/ralph-config-schema.1\n",
        "/LICENSE-MIT\n",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }

    // Dates and owners are the same in every build.
    let rows = sandbox
        .program("tar")
        .arg("-tvzf")
        .arg(release.join(&archive))
        .env("TZ", "UTC0")
        .run(SOON)
        .stdout;
    for row in rows.lines() {
        let columns: Vec<&str> = row.split_whitespace().collect();
        assert!(columns.iter().any(|column| column.starts_with("2000")), "{row}");
        assert!(columns[1].starts_with('0'), "{row}");
    }

    // An installed file stays as it is when anything is wrong.
    fs::write(directory.join("ralph"), "mine").expect("a file");
    let sums = fs::read(release.join("SHA256SUMS")).expect("sums");
    tamper(&release.join(&archive));
    let tampered = install();
    fs::write(release.join("SHA256SUMS"), "0123  another.tar.gz\n").expect("sums");
    let unnamed = install();
    fs::remove_file(release.join("SHA256SUMS")).expect("sums");
    let missing = install();
    let refusals = [
        (tampered, "is not what SHA256SUMS says"),
        (unnamed, "SHA256SUMS does not name"),
        (missing, "SHA256SUMS cannot be downloaded"),
    ];
    for (refused, why) in refusals {
        assert_eq!(refused.code(), Some(1), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
        assert_eq!(fs::read_to_string(directory.join("ralph")).expect("a file"), "mine");
    }
    fs::write(release.join("SHA256SUMS"), sums).expect("sums");
    assert_eq!(
        fs::read_dir(&directory).expect("a directory").count(),
        1,
        "nothing half is left"
    );
}

#[test]
fn the_npm_package_starts_the_binary_whose_sum_agrees_and_no_other() {
    needs!("npm");
    let sandbox = Sandbox::new();
    if !sandbox.program("npm").arg("--version").run(SOON).status.success() {
        skipped("the npm package: there is no npm");
        return;
    }
    let package: Value = serde_json::from_str(&text_of("packaging/npm/package.json")).expect("JSON");
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    let feature = text_of("packaging/devcontainer/src/ralph/devcontainer-feature.json");
    let feature: Value = serde_json::from_str(&feature).expect("JSON");
    assert_eq!(feature["version"], env!("CARGO_PKG_VERSION"));
    // ralph makes its state in the volume, in the directory that the installation prepares.
    let volume = feature["mounts"][0]["target"].as_str().expect("a volume");
    assert_eq!(feature["containerEnv"]["RALPH_STATE_DIR"], format!("{volume}/state"));
    let install = text_of("packaging/devcontainer/src/ralph/install.sh");
    assert!(
        install.ends_with(&format!("install -d -m 1777 {volume}\n")),
        "{install}"
    );
    let (release, archive) = release(&sandbox);
    let address = serve(release.clone());
    let npm = |args: &[&str]| {
        let done = sandbox
            .program("npm")
            .args(args)
            .env("RALPH_DOWNLOAD_URL", &address)
            .run(SOON);
        assert_eq!(done.code(), Some(0), "{args:?}: {done:?}");
        done.stdout
    };
    let source = root().join("packaging/npm").display().to_string();
    let packed = npm(&["pack", "--silent", &source]);
    // As on a system where npm scripts are disabled: the first start downloads the binary.
    npm(&[
        "install",
        "--offline",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--global",
        "--prefix",
        "installed",
        packed.trim(),
    ]);
    let ralph = |args: &[&str]| {
        let program = sandbox.program(sandbox.project().join("installed/bin/ralph"));
        program.args(args).env("RALPH_DOWNLOAD_URL", &address).run(SOON)
    };
    let sound = fs::read(release.join(&archive)).expect("an archive");
    tamper(&release.join(&archive));
    let refused = ralph(&["--version"]);
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    assert!(refused.stderr.contains("is not what SHA256SUMS says"), "{refused:?}");
    fs::write(release.join(&archive), sound).expect("an archive");
    let version = ralph(&["--version"]);
    assert!(version.stdout.contains(env!("CARGO_PKG_VERSION")), "{version:?}");
    // Exit codes are passed on from ralph.
    assert_eq!(ralph(&["--no-such-flag"]).code(), Some(2));
}

/// The files that `cargo package` would pack for the crate in `directory`, as paths below the root.
fn packaged(name: &str, directory: &str) -> BTreeSet<PathBuf> {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let listed = std::process::Command::new(cargo)
        .args([
            "package",
            "--list",
            "--allow-dirty",
            "--offline",
            "--locked",
            "--package",
            name,
        ])
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    listed.lines().map(|line| Path::new(directory).join(line)).collect()
}

#[test]
fn the_crates_have_all_it_takes_to_compile_and_little_else() {
    let crates = fs::read_dir(root().join("crates")).expect("a directory");
    let names = crates.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut packages = vec![
        ("ralph-loop".to_owned(), String::new()),
        ("ralph-loop-core".to_owned(), "core".to_owned()),
    ];
    packages.extend(names.map(|name| (format!("ralph-loop-{name}"), format!("crates/{name}"))));
    for (name, directory) in packages {
        let files = packaged(&name, &directory);
        is_complete(&files, &name, Path::new(&directory));
        for needed in ["src/main.rs", "README.md"] {
            assert!(name != "ralph-loop" || files.contains(Path::new(needed)), "{needed}");
        }
    }
}

/// Panics unless the files of a crate are what it takes to compile it, and little else.
fn is_complete(files: &BTreeSet<PathBuf>, name: &str, directory: &Path) {
    // Files generated while packaging have no size yet.
    let sizes = files.iter().filter_map(|file| fs::metadata(root().join(file)).ok());
    let bytes: u64 = sizes.map(|metadata| metadata.len()).sum();
    assert!(
        bytes < CRATE_CAP_BYTES,
        "{name}: {bytes} bytes before they are compressed"
    );
    let is_stray = |file: &PathBuf| {
        ["tests", "benches"]
            .iter()
            .any(|part| file.starts_with(directory.join(part)))
    };
    let stray: Vec<&PathBuf> = files.iter().filter(|file| is_stray(file)).collect();
    assert!(stray.is_empty(), "{name}: {stray:?}");
    for needed in ["src/lib.rs", "LICENSE-MIT", "LICENSE-APACHE", "Cargo.lock"] {
        assert!(files.contains(&directory.join(needed)), "{name}: {needed}");
    }
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
    {
        let text = fs::read_to_string(root().join(file)).expect("a source");
        // Tests are not compiled from the package.
        let code = text.split("#[cfg(test)]\nmod").next().unwrap_or_default();
        for included in code
            .split("include_str!(\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
        {
            // By its words: the package has the files behind a link of the repository.
            let mut path = file.with_file_name("");
            for part in Path::new(included) {
                match part.to_str() {
                    Some("..") => assert!(path.pop(), "{}: {included}", file.display()),
                    _ => path.push(part),
                }
            }
            let is_test = file.to_string_lossy().contains("test") || path.starts_with("tests");
            assert!(
                files.contains(&path) || is_test,
                "{} needs {}",
                file.display(),
                path.display()
            );
        }
    }
}
