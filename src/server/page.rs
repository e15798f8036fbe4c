//! The web page for phones and desktops: files in the binary, under a policy that runs no other code.
//!
//! All files come from this server: no inline scripts, no other origins, no frames, no forms to other sites. Text of an
//! agent reaches the page as data, and `require-trusted-types-for` makes the browser refuse to parse it as markup.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, rejection::PathRejection},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{
            ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
            IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
    routing::get,
};
use miniz_oxide::deflate::compress_to_vec_zlib;

use super::problem::{ApiProblem, HttpResult, no_such_method};

/// The hash is that of the empty text: xterm.js adds `<style>` elements that stay empty (`styles.js`), and only empty
/// ones are allowed besides the style sheets.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; \
     style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const COMPRESSION: u8 = 7;

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
    file: &'static PageFile,
    served: OnceLock<EncodedFile>,
}

struct EncodedFile {
    tag: HeaderValue,
    /// Compressed as `deflate`, which every browser accepts and which needs no CRC as gzip does.
    compressed: Bytes,
}

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
    file!(SCRIPT, "agent.js"),
    file!(SCRIPT, "api.js"),
    file!(SCRIPT, "asks.js"),
    file!(SCRIPT, "batch.js"),
    file!(SCRIPT, "changes.js"),
    file!(SCRIPT, "composer.js"),
    file!(SCRIPT, "conversation.js"),
    file!(SCRIPT, "diff.js"),
    file!(SCRIPT, "dom.js"),
    file!(SCRIPT, "end.js"),
    file!(SCRIPT, "head.js"),
    file!(SCRIPT, "history.js"),
    file!(SCRIPT, "log.js"),
    file!(SCRIPT, "login.js"),
    file!(SCRIPT, "main.js"),
    file!(SCRIPT, "markdown.js"),
    file!(SCRIPT, "mood.js"),
    file!(SCRIPT, "plan.js"),
    file!(SCRIPT, "run.js"),
    file!(SCRIPT, "runs.js"),
    file!(SCRIPT, "sessions.js"),
    file!(SCRIPT, "styles.js"),
    file!(SCRIPT, "tabs.js"),
    file!(SCRIPT, "tasks.js"),
    file!(SCRIPT, "terminal.js"),
    file!(SCRIPT, "words.js"),
    file!(SCRIPT, "xterm.mjs", "vendor/xterm.mjs"),
];

/// The routes of the page and its files, which contain no data of runs.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let assets: Arc<[Asset]> = FILES.iter().map(Asset::new).collect();
    let page = Arc::clone(&assets);
    let index = move |headers: HeaderMap| async move { page[0].answer(&headers) };
    let asset = move |name: Result<Path<String>, PathRejection>, headers: HeaderMap| async move {
        let Path(name) = name?;
        let found = assets.iter().skip(1).find(|asset| asset.file.name == name);
        let missing = || ApiProblem::not_found("the page has no such file").into_response();
        HttpResult::Ok(found.map_or_else(missing, |asset| asset.answer(&headers)))
    };
    Router::new()
        .route("/", get(index))
        .route("/assets/{name}", get(asset))
        .method_not_allowed_fallback(no_such_method)
}

impl Asset {
    fn new(file: &'static PageFile) -> Self {
        Self {
            file,
            served: OnceLock::new(),
        }
    }

    fn answer(&self, asked: &HeaderMap) -> Response {
        let served = self.served.get_or_init(|| EncodedFile::encode(self.file));
        let headers: [(HeaderName, HeaderValue); 6] = [
            (ETAG, served.tag.clone()),
            // The browser revalidates every time, since a newer ralph may serve this address next; the answer is 304 if
            // unchanged.
            (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            (VARY, HeaderValue::from_static("accept-encoding")),
            (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ];
        if asked.get(IF_NONE_MATCH) == Some(&served.tag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let kind = [(CONTENT_TYPE, HeaderValue::from_static(self.file.kind))];
        if takes_deflate(asked) {
            let encoding = [(CONTENT_ENCODING, HeaderValue::from_static("deflate"))];
            return (headers, kind, encoding, served.compressed.clone()).into_response();
        }
        (headers, kind, Bytes::from_static(self.file.bytes)).into_response()
    }
}

fn takes_deflate(asked: &HeaderMap) -> bool {
    let names = asked.get(ACCEPT_ENCODING).and_then(|names| names.to_str().ok());
    names.is_some_and(|names| names.split(',').any(|name| name.trim() == "deflate"))
}

impl EncodedFile {
    fn encode(file: &PageFile) -> Self {
        let mut hasher = DefaultHasher::new();
        file.bytes.hash(&mut hasher);
        let tag = format!("\"{:016x}\"", hasher.finish());
        Self {
            tag: HeaderValue::from_str(&tag).expect("digits in quotes"),
            compressed: compress_to_vec_zlib(file.bytes, COMPRESSION).into(),
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
    const MOST_BYTES: usize = 250_000;

    fn directory() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/page")
    }

    /// Names of the files on disk that browsers need.
    fn files_on_disk() -> BTreeSet<String> {
        let places = [directory(), directory().join("vendor")];
        let entries = places.iter().flat_map(|place| fs::read_dir(place).unwrap());
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_served = |name: &String| {
            [".html", ".js", ".mjs", ".css", ".svg"]
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
            .map(|file| EncodedFile::encode(file).compressed.len())
            .sum();
        assert!(bytes <= MOST_BYTES, "{bytes} bytes");
    }

    #[test]
    fn the_page_loads_its_own_files_only_and_reads_no_markup_from_data() {
        for file in FILES.iter().filter(|file| !file.name.starts_with("xterm.")) {
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
