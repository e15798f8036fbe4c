//! The web page for phones and desktops: files in the binary, under a policy that runs no other code.
//!
//! All files come from this server: no inline scripts, no other origins, no frames, no forms to other sites. Text of an
//! agent reaches the page as data, and `require-trusted-types-for` makes the browser refuse to parse it as markup.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, OnceLock},
};

use super::{
    compression::{compressed_file, takes_deflate},
    problem::{ApiProblem, HttpResult, no_such_method},
};
use axum::{
    Router,
    body::Bytes,
    extract::{Path, rejection::PathRejection},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
            REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
    routing::get,
};

/// The hash is that of the empty text: xterm.js adds `<style>` elements that stay empty (`styles.js`), and only empty
/// ones are allowed besides the style sheets.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; \
     manifest-src 'self'; worker-src 'self'; \
     style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types ralph-worker";

/// How long a browser keeps a file whose address names its content.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// A file whose content may change is requested anew every time; the answer is 304 if it has not.
const REVALIDATED: &str = "no-cache";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file of the page.
struct PageFile {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

/// A file, with its compressed form once it was requested.
struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: Bytes,
    served: OnceLock<EncodedFile>,
}

/// The files as they are served. Their addresses contain a hash of all of them, so that a browser keeps what it has
/// and never mixes the files of two versions.
struct Assets {
    version: String,
    page: Asset,
    files: Vec<Asset>,
}

struct EncodedFile {
    tag: HeaderValue,
    compressed: Bytes,
}

/// The service worker, which has to be above what it serves.
const WORKER: &str = "worker.js";

macro_rules! file {
    ($kind:expr, $name:literal) => {
        file!($kind, $name, $name)
    };
    ($kind:expr, $name:literal, $path:literal) => {
        PageFile {
            name: $name,
            kind: $kind,
            bytes: include_bytes!(concat!("page/", $path)),
        }
    };
}

/// The files; the page itself is the first.
static FILES: &[PageFile] = &[
    file!(HTML, "index.html"),
    file!(CSS, "page.css"),
    file!(CSS, "xterm.css", "vendor/xterm.css"),
    file!("image/svg+xml", "icon.svg"),
    file!("image/png", "icon.png"),
    file!("application/manifest+json", "manifest.webmanifest"),
    file!(SCRIPT, "agent.js"),
    file!(SCRIPT, "api.js"),
    file!(SCRIPT, "asks.js"),
    file!(SCRIPT, "batch.js"),
    file!(SCRIPT, "changes.js"),
    file!(SCRIPT, "comments.js"),
    file!(SCRIPT, "composer.js"),
    file!(SCRIPT, "conversation.js"),
    file!(SCRIPT, "diff.js"),
    file!(SCRIPT, "dom.js"),
    file!(SCRIPT, "editor.js"),
    file!(SCRIPT, "end.js"),
    file!(SCRIPT, "head.js"),
    file!(SCRIPT, "history.js"),
    file!(SCRIPT, "log.js"),
    file!(SCRIPT, "login.js"),
    file!(SCRIPT, "main.js"),
    file!(SCRIPT, "markdown.js"),
    file!(SCRIPT, "mood.js"),
    file!(SCRIPT, "notices.js"),
    file!(SCRIPT, "plan.js"),
    file!(SCRIPT, "run.js"),
    file!(SCRIPT, "runs.js"),
    file!(SCRIPT, "sessions.js"),
    file!(SCRIPT, "start.js"),
    file!(SCRIPT, "styles.js"),
    file!(SCRIPT, "tabs.js"),
    file!(SCRIPT, "tasks.js"),
    file!(SCRIPT, "terminal.js"),
    file!(SCRIPT, "words.js"),
    file!(SCRIPT, "worker.js"),
    file!(SCRIPT, "xterm.mjs", "vendor/xterm.mjs"),
];

/// The routes of the page and its files, which contain no data of runs.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let assets = Arc::new(Assets::new());
    let (files, worker) = (Arc::clone(&assets), Arc::clone(&assets));
    let page = move |headers: HeaderMap| async move { assets.page.answer(&headers, REVALIDATED) };
    let worker = move |headers: HeaderMap| async move { worker.file(WORKER, &headers, REVALIDATED) };
    let file = move |place: Result<Path<(String, String)>, PathRejection>, headers: HeaderMap| async move {
        let Path((version, name)) = place?;
        // Another version's page may still be open and ask for a file that it has not loaded yet.
        let keeping = if version == files.version {
            IMMUTABLE
        } else {
            REVALIDATED
        };
        HttpResult::Ok(files.file(&name, &headers, keeping))
    };
    Router::new()
        .route("/", get(page))
        .route("/worker.js", get(worker))
        .route("/assets/{version}/{name}", get(file))
        .method_not_allowed_fallback(no_such_method)
}

impl Assets {
    fn new() -> Self {
        let mut hasher = DefaultHasher::new();
        FILES.iter().for_each(|file| file.bytes.hash(&mut hasher));
        let version = format!("{:016x}", hasher.finish());
        let files = FILES.iter().skip(1).map(|file| Asset::new(file, served_bytes(file)));
        let page = page_of(&FILES[0], &version);
        Self {
            page: Asset::new(&FILES[0], page.into()),
            files: files.collect(),
            version,
        }
    }

    fn file(&self, name: &str, asked: &HeaderMap, keeping: &'static str) -> Response {
        let found = self.files.iter().find(|asset| asset.name == name);
        let missing = || ApiProblem::not_found("the page has no such file").into_response();
        found.map_or_else(missing, |asset| asset.answer(asked, keeping))
    }
}

/// The bytes of a file as they are served: scripts without the lines that are comments. Other lines keep their numbers.
fn served_bytes(file: &PageFile) -> Bytes {
    if file.kind != SCRIPT || file.name.ends_with(".mjs") {
        return Bytes::from_static(file.bytes);
    }
    let text = String::from_utf8_lossy(file.bytes);
    let lines = text.lines().map(|line| if is_comment(line) { "" } else { line });
    lines.flat_map(|line| [line, "\n"]).collect::<String>().into()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The page with the addresses of its files, and with its modules named ahead, so that they load all at once.
fn page_of(file: &PageFile, version: &str) -> String {
    let text = String::from_utf8_lossy(file.bytes).replace("\"assets/", &format!("\"assets/{version}/"));
    let modules = FILES
        .iter()
        .filter(|file| file.kind == SCRIPT && file.name.ends_with(".js"));
    let later = ["main.js", "styles.js", "terminal.js", WORKER];
    let links = modules.filter(|file| !later.contains(&file.name)).map(|file| {
        format!(
            "    <link rel=\"modulepreload\" href=\"assets/{version}/{}\">\n",
            file.name
        )
    });
    text.replacen("  </head>", &(links.collect::<String>() + "  </head>"), 1)
}

impl Asset {
    fn new(file: &PageFile, bytes: Bytes) -> Self {
        Self {
            name: file.name,
            kind: file.kind,
            bytes,
            served: OnceLock::new(),
        }
    }

    fn answer(&self, asked: &HeaderMap, keeping: &'static str) -> Response {
        let served = self.served.get_or_init(|| EncodedFile::encode(&self.bytes));
        let headers: [(HeaderName, HeaderValue); 6] = [
            (ETAG, served.tag.clone()),
            (CACHE_CONTROL, HeaderValue::from_static(keeping)),
            (VARY, HeaderValue::from_static("accept-encoding")),
            (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ];
        if asked.get(IF_NONE_MATCH) == Some(&served.tag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let kind = [(CONTENT_TYPE, HeaderValue::from_static(self.kind))];
        if takes_deflate(asked) {
            let encoding = [(CONTENT_ENCODING, HeaderValue::from_static("deflate"))];
            return (headers, kind, encoding, served.compressed.clone()).into_response();
        }
        (headers, kind, self.bytes.clone()).into_response()
    }
}

impl EncodedFile {
    fn encode(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let tag = format!("\"{:016x}\"", hasher.finish());
        Self {
            tag: HeaderValue::from_str(&tag).expect("digits in quotes"),
            compressed: compressed_file(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::*;

    /// Maximum size of the compressed page.
    const MOST_BYTES: usize = 150_000;

    fn directory() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page")
    }

    /// Names of the files on disk that browsers need.
    fn files_on_disk() -> BTreeSet<String> {
        let places = [directory(), directory().join("vendor")];
        let entries = places.iter().flat_map(|place| fs::read_dir(place).unwrap());
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_served = |name: &String| {
            [".html", ".js", ".mjs", ".css", ".svg", ".png", ".webmanifest"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        names.filter(is_served).collect()
    }

    fn text(file: &PageFile) -> &'static str {
        std::str::from_utf8(file.bytes).unwrap()
    }

    #[test]
    fn every_file_of_the_page_is_served_and_all_of_them_are_small() {
        let served: BTreeSet<String> = FILES.iter().map(|file| file.name.to_owned()).collect();
        assert_eq!(served, files_on_disk());
        let bytes: usize = FILES
            .iter()
            .map(|file| EncodedFile::encode(&served_bytes(file)).compressed.len())
            .sum();
        assert!(bytes <= MOST_BYTES, "{bytes} bytes");
    }

    #[test]
    fn a_line_that_is_left_out_as_a_comment_is_none_of_a_text() {
        for file in FILES
            .iter()
            .filter(|file| file.kind == SCRIPT && file.name.ends_with(".js"))
        {
            let mut is_in_text = false;
            for line in text(file).lines() {
                assert!(!is_in_text || !is_comment(line), "{}: {line}", file.name);
                let marks = line.replace("\"`\"", "").matches('`').count();
                if !is_comment(line) && marks % 2 == 1 {
                    is_in_text = !is_in_text;
                }
            }
        }
    }

    #[test]
    fn the_page_loads_its_own_files_only_and_reads_no_markup_from_data() {
        for file in FILES
            .iter()
            .filter(|file| !file.name.starts_with("xterm.") && file.kind != "image/png")
        {
            let text = text(file);
            for forbidden in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "<style",
                "onload=",
                "style=",
            ] {
                assert!(!text.contains(forbidden), "{}: {forbidden}", file.name);
            }
            let foreign = text.replace("http://www.w3.org/2000/svg", "");
            assert!(
                !foreign.contains("http://") && !foreign.contains("https://"),
                "{}",
                file.name
            );
            for name in text.split("from \"./").skip(1).chain(text.split("import(\"./").skip(1)) {
                let name = name.split('"').next().unwrap();
                assert!(FILES.iter().any(|asset| asset.name == name), "{}: {name}", file.name);
            }
        }
        let scripts: Vec<&str> = text(&FILES[0]).split("<script").skip(1).collect();
        assert!(
            scripts.iter().all(|script| script.contains("src=\"assets/")),
            "{scripts:?}"
        );
    }
}
