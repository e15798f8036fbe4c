//! Answers that are compressed for clients that take it: `deflate`, which every browser does, and which needs no CRC as
//! gzip does.

use axum::{
    body::{Body, Bytes, to_bytes},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY},
    },
    response::{IntoResponse, Response},
};
use miniz_oxide::deflate::compress_to_vec_zlib;
use tokio::task::spawn_blocking;

use super::problem::ApiProblem;

/// Level for files, which are compressed once.
const OF_FILES: u8 = 9;
/// Level for answers, which are compressed each time.
const OF_ANSWERS: u8 = 2;
/// Bytes from which on an answer is compressed.
const WORTH_BYTES: usize = 2 * 1024;
/// Maximum size of an answer in JSON.
const CAP_BYTES: usize = 256 << 20;

pub(super) fn takes_deflate(asked: &HeaderMap) -> bool {
    let names = asked.get(ACCEPT_ENCODING).and_then(|names| names.to_str().ok());
    names.is_some_and(|names| names.split(',').any(|name| name.trim() == "deflate"))
}

/// Compresses a file.
pub(super) fn compressed_file(bytes: &[u8]) -> Bytes {
    compress_to_vec_zlib(bytes, OF_FILES).into()
}

/// Compresses an answer if it is JSON and its client takes `deflate`: a page reads the whole state of its run again at
/// each change.
pub(super) async fn compressed_json(takes_deflate: bool, response: Response) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    if !takes_deflate || kind.is_none_or(|kind| kind != "application/json") {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let body = match to_bytes(body, CAP_BYTES).await {
        Ok(body) => body,
        Err(error) => return ApiProblem::new(StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    };
    parts.headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    if body.len() < WORTH_BYTES {
        return Response::from_parts(parts, Body::from(body));
    }
    // Other clients are served meanwhile.
    let whole = body.clone();
    let Ok(smaller) = spawn_blocking(move || compress_to_vec_zlib(&whole, OF_ANSWERS)).await else {
        return Response::from_parts(parts, Body::from(body));
    };
    parts.headers.remove(CONTENT_LENGTH);
    parts
        .headers
        .insert(CONTENT_ENCODING, HeaderValue::from_static("deflate"));
    Response::from_parts(parts, Body::from(smaller))
}
