//! Authorizes clients of the API over TCP: a client needs a token, and a browser must be on the page of this listener.
//!
//! Any web page that the user visits can send requests to this machine, and so can programs of other users. A browser
//! adds its cookies to such requests by itself, so a cookie alone proves nothing: a request that commands must also
//! come from the page that the cookie was given to. No answer allows another page to read it (CORS).

use std::{
    collections::HashSet,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Extension, Router,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
        header::{
            AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, ORIGIN, REFERRER_POLICY,
            SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
        },
    },
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::post,
};
use ralph_state::{
    control::ClientRole,
    store::tokens::{AccessToken, AccessTokens, FileVersion, TokenFile, TokensError},
};
use ralph_system::proc::ProcessOrigin;
use serde::Serialize;
use tracing::warn;

use super::{
    json::Json,
    problem::{ApiProblem, HttpResult, no_such_method},
    tcp::TcpClient,
};

/// Headers of every answer, unless a route sets its own.
const HEADERS: [(HeaderName, &str); 6] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (CACHE_CONTROL, "no-store"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
    ),
];

/// The header in which a browser names the origin of a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The header in which a proxy names the protocol of the original request.
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The header that tells a proxy not to buffer an answer.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const EVENT_STREAM: &str = "text/event-stream";

/// Lifetime of a browser's session cookie.
const SESSION_SECONDS: u32 = 90 * 24 * 3600;

/// Query parameters that look like a token. Tokens in an address are refused.
const IN_THE_ADDRESS: [&str; 6] = ["token", "access_token", "auth", "authorization", "bearer", "session"];

/// Maximum number of refused requests logged per minute.
const MOST_LOGGED: u32 = 10;
const A_MINUTE: Duration = Duration::from_secs(60);

/// Authorizes the clients of a TCP listener.
#[derive(Debug)]
pub(crate) struct Authorizer {
    file: TokenFile,
    known: Mutex<TokenCache>,
    /// The address of the listener.
    address: SocketAddr,
    /// Host names of proxies in front of the listener, in lower case, with or without a port.
    proxied: HashSet<String>,
    /// Name of the session cookie. It contains the port, because browsers send cookies to all ports of a host.
    cookie: String,
    log: Mutex<RefusalLog>,
}

/// The cached content of the token file.
#[derive(Debug)]
struct TokenCache {
    version: Option<FileVersion>,
    /// `None` while the file cannot be read; no token is accepted then.
    tokens: Option<AccessTokens>,
}

/// How a client authenticated itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenSource {
    Header,
    Cookie,
}

/// Counts of the refusals logged lately.
#[derive(Debug)]
struct RefusalLog {
    since: Instant,
    logged: u32,
    left_out: u64,
}

impl Authorizer {
    /// Accepts the tokens of `file`, which is created if missing. `address` is that of the listener. `proxied` are the
    /// names (`HOST` or `HOST:PORT`) under which a proxy passes requests on to it.
    ///
    /// # Errors
    /// [`TokensError`].
    pub(crate) fn open(file: TokenFile, address: SocketAddr, proxied: &[String]) -> Result<Self, TokensError> {
        let tokens = file.read_or_make()?;
        Ok(Self {
            known: Mutex::new(TokenCache {
                version: file.version(),
                tokens: Some(tokens),
            }),
            file,
            address,
            proxied: proxied.iter().map(|host| host.to_ascii_lowercase()).collect(),
            cookie: format!("ralph-{}", address.port()),
            log: Mutex::new(RefusalLog {
                since: Instant::now(),
                logged: 0,
                left_out: 0,
            }),
        })
    }

    /// Protects `routes` with the token, and adds the login route, which gives a browser its cookie. `public` needs no
    /// token and has no secrets.
    /// Requests that reach `routes` have their [`ClientRole`] among their extensions.
    pub(crate) fn guard(self: &Arc<Self>, routes: Router, public: Router) -> Router {
        let login = Router::new()
            .route("/login", post(login))
            .method_not_allowed_fallback(no_such_method)
            .with_state(Arc::clone(self));
        let known = routes
            .merge(login)
            .layer(from_fn_with_state(Arc::clone(self), only_known));
        let public = public.layer(from_fn_with_state(Arc::clone(self), only_looking));
        public
            .merge(known)
            .layer(from_fn_with_state(Arc::clone(self), only_from_here))
    }

    /// Returns the client's role, and how the client authenticated itself.
    fn identify(&self, headers: &HeaderMap) -> HttpResult<(ClientRole, TokenSource)> {
        let tokens = self
            .tokens()
            .ok_or_else(|| unauthorized("the tokens of this ralph cannot be read"))?;
        if let Some(shown) = headers.get(AUTHORIZATION) {
            let shown = shown.to_str().ok().and_then(bearer);
            let shown = shown.ok_or_else(|| unauthorized("the token must be in `Authorization: Bearer TOKEN`"))?;
            return match (tokens.full.is(shown), tokens.read_only.is(shown)) {
                (true, _) => Ok((ClientRole::User, TokenSource::Header)),
                (false, true) => Ok((ClientRole::Reader, TokenSource::Header)),
                (false, false) => Err(unauthorized("the token is wrong; `ralph token` prints the right one")),
            };
        }
        let sessions: Vec<&str> = self.sessions(headers).collect();
        if sessions.is_empty() {
            return Err(unauthorized(
                "this needs a token, in `Authorization: Bearer TOKEN`; `ralph token` prints it",
            ));
        }
        let is_one = |session: &AccessToken| sessions.iter().any(|shown| session.is(shown));
        match (is_one(&tokens.full_session), is_one(&tokens.read_only_session)) {
            (true, _) => Ok((ClientRole::User, TokenSource::Cookie)),
            (false, true) => Ok((ClientRole::Reader, TokenSource::Cookie)),
            (false, false) => Err(unauthorized(
                "this browser is no longer logged in: open the link with a token again",
            )),
        }
    }

    /// Returns the role that a token for `role` gives a process of that origin.
    ///
    /// A proxy may run as another user. Without a proxy, only this user has a reason to connect: a session shown by
    /// another user was taken from a browser while that user had the port.
    fn role_of(&self, role: ClientRole, origin: ProcessOrigin) -> HttpResult<ClientRole> {
        match origin {
            ProcessOrigin::Elsewhere => Ok(role),
            ProcessOrigin::OtherUser if !self.proxied.is_empty() => Ok(role),
            ProcessOrigin::OtherUser => Err(ApiProblem::forbidden(
                "this connection belongs to another user of this machine; set `--behind-proxy` for a proxy of another user",
            )),
            ProcessOrigin::Run | ProcessOrigin::Unknown => Ok(ClientRole::Agent),
        }
    }

    /// Values of cookies that may be a session of this ralph.
    fn sessions<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let cookies = headers
            .get_all(COOKIE)
            .into_iter()
            .filter_map(|cookies| cookies.to_str().ok());
        let cookies = cookies.flat_map(|cookies| cookies.split(';'));
        cookies.filter_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        })
    }

    /// Returns the current tokens. `ralph token --revoke` takes effect at once.
    fn tokens(&self) -> Option<AccessTokens> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.file.version();
        if version != known.version {
            known.tokens = self.file.read().ok();
            known.version = version;
        }
        known.tokens.clone()
    }

    /// Whether the listener may be reached under `host`. Any other name that resolves to this machine belongs to a
    /// foreign page (DNS rebinding).
    fn is_own(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if self.proxied.contains(&host) {
            return true;
        }
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            Some(_) | None => (host.as_str(), None),
        };
        if matches!(port, Some("80" | "443")) && self.proxied.contains(name) {
            return true;
        }
        // Any port: a tunnel (`ssh -L`) has its own at the other end. Only the name cannot be forged.
        let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
        let address = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
            .unwrap_or(name);
        let is_loopback = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        is_port && (name == "localhost" || is_loopback)
    }

    /// Checks the destination and the origin of a request.
    fn check(&self, request: &Request) -> HttpResult<()> {
        let authority = request.uri().authority().map(|authority| authority.as_str());
        let is_meant = |host: &&str| self.is_own(host) && authority.is_none_or(|authority| authority == *host);
        let host = one(request.headers(), &HOST).ok().flatten().filter(is_meant);
        let host = host.ok_or_else(|| {
            ApiProblem::new(
                StatusCode::MISDIRECTED_REQUEST,
                "this host name is not allowed; use 127.0.0.1, localhost or a name given with `--behind-proxy`",
            )
        })?;
        let foreign = || ApiProblem::forbidden("another page's requests are refused");
        match one(request.headers(), &ORIGIN) {
            Ok(None) => {}
            Ok(Some(origin)) if self.is_own_page(origin, host) => {}
            Ok(Some(_)) | Err(_) => return Err(foreign()),
        }
        if names_token(request.uri()) {
            return Err(ApiProblem::bad_request(
                "a token in an address ends in histories and logs: send it as `Authorization: Bearer TOKEN`, and make another \
                 with `ralph token --revoke` if this one was real",
            ));
        }
        Ok(())
    }

    /// Whether a page from `origin` belongs to this listener, which was addressed as `host`.
    fn is_own_page(&self, origin: &str, host: &str) -> bool {
        let page = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        page.is_some_and(|page| {
            let page = page.to_ascii_lowercase();
            // A proxy may pass requests on under another name than its own.
            page == host.to_ascii_lowercase() || self.proxied.contains(&page)
        })
    }

    /// Logs a refusal without the content of the request, at a limited rate.
    fn note(&self, method: &Method, path: &str, problem: &ApiProblem) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.since.elapsed() >= A_MINUTE {
            *log = RefusalLog {
                since: Instant::now(),
                logged: 0,
                left_out: log.left_out,
            };
        }
        if log.logged == MOST_LOGGED {
            log.left_out += 1;
            return;
        }
        log.logged += 1;
        let path: String = path.chars().take(100).collect();
        warn!(%method, ?path, status = problem.status().as_u16(), left_out = log.left_out, "request refused");
        log.left_out = 0;
    }

    /// Returns the cookie that a browser sends from now on in place of its token.
    fn cookie_for(&self, role: ClientRole, headers: &HeaderMap) -> Option<HeaderValue> {
        let tokens = self.tokens()?;
        let session = match role {
            ClientRole::User => tokens.full_session,
            ClientRole::Reader => tokens.read_only_session,
            ClientRole::Agent => return None,
        };
        // `Secure` cookies are not sent over plain HTTP, which is used on this machine.
        let is_secure = !self.proxied.is_empty() && headers.get(FORWARDED_PROTO).is_some_and(|proto| proto == "https");
        let secure = if is_secure { "; Secure" } else { "" };
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECONDS}{secure}",
            self.cookie,
            session.secret()
        );
        HeaderValue::from_str(&cookie).ok()
    }

    /// The address of the listener.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Middleware that accepts requests to this listener from its own page or from no page.
async fn only_from_here(State(access): State<Arc<Authorizer>>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = match access.check(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            access.note(&method, &path, &problem);
            problem.into_response()
        }
    };
    let headers = response.headers_mut();
    // A proxy such as nginx holds the events of a stream back otherwise.
    if headers.get(CONTENT_TYPE).is_some_and(|kind| kind == EVENT_STREAM) {
        headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    }
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Middleware that accepts requests with a token, within the rights of the token.
async fn only_known(State(access): State<Arc<Authorizer>>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Arc<TcpClient>>().map(Arc::clone);
    match admitted(&access, &request, caller.as_deref()) {
        Ok(role) => {
            let role = match caller {
                Some(caller) => access.role_of(role, caller.origin().await),
                // A request over the Unix socket, whose peer was already checked.
                None => Ok(match request.extensions().get::<ClientRole>() {
                    Some(ClientRole::Agent) => ClientRole::Agent,
                    Some(ClientRole::User | ClientRole::Reader) | None => role,
                }),
            };
            match role {
                Ok(role) => {
                    request.extensions_mut().insert(role);
                    next.run(request).await
                }
                Err(problem) => {
                    access.note(request.method(), request.uri().path(), &problem);
                    problem.into_response()
                }
            }
        }
        Err(problem) => {
            access.note(request.method(), request.uri().path(), &problem);
            refusal(problem)
        }
    }
}

fn admitted(access: &Authorizer, request: &Request, caller: Option<&TcpClient>) -> HttpResult<ClientRole> {
    let headers = request.headers();
    let (role, proof) = access.identify(headers)?;
    let looks = is_looking(request.method());
    // Another page can have a browser send requests here, although it never sees the answers.
    let site = headers
        .get(FETCH_SITE)
        .map_or("none", |site| site.to_str().unwrap_or_default());
    if proof == TokenSource::Cookie && !matches!(site, "none" | "same-origin") {
        return Err(ApiProblem::forbidden("another page's requests are refused"));
    }
    if proof == TokenSource::Cookie && !looks && !headers.contains_key(ORIGIN) {
        return Err(ApiProblem::forbidden(
            "commands from a browser need the header `Origin`; a program uses the token",
        ));
    }
    if role == ClientRole::Reader && !looks && request.uri().path() != "/login" {
        return Err(ApiProblem::forbidden(
            "this token is read-only and cannot send commands",
        ));
    }
    if caller.is_some_and(|caller| !caller.is_admitted()) {
        return Err(ApiProblem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many connections at a time: close one",
        ));
    }
    Ok(role)
}

/// Middleware that accepts only requests that change nothing.
async fn only_looking(State(access): State<Arc<Authorizer>>, request: Request, next: Next) -> Response {
    if is_looking(request.method()) {
        return next.run(request).await;
    }
    let problem = ApiProblem::new(StatusCode::METHOD_NOT_ALLOWED, "no such method on this route");
    access.note(request.method(), request.uri().path(), &problem);
    problem.into_response()
}

/// The answer to a browser that logged in.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct LoggedIn {
    /// Whether the token is read-only.
    read_only: bool,
}

async fn login(
    State(access): State<Arc<Authorizer>>,
    Extension(role): Extension<ClientRole>,
    headers: HeaderMap,
) -> HttpResult<Response> {
    if role == ClientRole::Agent {
        return Err(ApiProblem::forbidden(
            "called from within the run: an agent has no browser to log in",
        ));
    }
    let cookie = access.cookie_for(role, &headers);
    let cookie = cookie.ok_or_else(|| unauthorized("the tokens of this ralph cannot be read"))?;
    let body = Json(LoggedIn {
        read_only: role == ClientRole::Reader,
    });
    Ok(([(SET_COOKIE, cookie)], body).into_response())
}

fn is_looking(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// Returns the token of `Bearer TOKEN`.
fn bearer(shown: &str) -> Option<&str> {
    let (scheme, token) = shown.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// The error for a header that is repeated or not text.
struct InvalidHeader;

/// Returns the value of a header that must not be repeated.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, InvalidHeader> {
    let mut values = headers.get_all(name).into_iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| InvalidHeader),
        (Some(_), Some(_)) => Err(InvalidHeader),
    }
}

/// Whether the query seems to contain a token.
fn names_token(uri: &Uri) -> bool {
    let parameters = uri.query().unwrap_or_default().split('&');
    let mut names = parameters.map(|parameter| parameter.split('=').next().unwrap_or_default());
    names.any(|name| IN_THE_ADDRESS.iter().any(|token| name.eq_ignore_ascii_case(token)))
}

fn unauthorized(detail: &str) -> ApiProblem {
    ApiProblem::new(StatusCode::UNAUTHORIZED, detail)
}

fn refusal(problem: ApiProblem) -> Response {
    let is_unknown = problem.status() == StatusCode::UNAUTHORIZED;
    let mut response = problem.into_response();
    if is_unknown {
        let how = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, how);
    }
    response
}
