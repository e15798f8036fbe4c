//! Authorizes clients of the API over TCP: a client needs a token, and a browser must be on the page of this listener.
//!
//! Any web page that the user visits can send requests to this machine, and so can programs of other users. A browser
//! adds its cookies to such requests by itself, so a cookie alone proves nothing: a request that commands must also
//! come from the page that the cookie was given to. No answer allows another page to read it (CORS).

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Extension, Router,
    body::{Body, HttpBody},
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
        header::{
            AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, ORIGIN, REFERRER_POLICY,
            SET_COOKIE, USER_AGENT, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
        },
    },
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use parking_lot::Mutex;
use ralph_state::{
    control::ClientRole,
    store::tokens::{AccessToken, AccessTokens, FileVersion, TokenFile, TokensError},
};
use ralph_system::{os::now_ms, proc::ProcessOrigin};
use serde::Serialize;
use tokio::time::sleep;
use tracing::warn;

use super::{
    compression::{compressed_json, takes_deflate},
    extract::{Caller, Path},
    json::Json,
    problem::{ApiProblem, HttpResult, no_such_method},
    rows::routes,
    sessions::{SessionEntry, Sessions},
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

/// The name under which browsers find this machine by themselves. Unlike those of `localhost`, its cookies are not sent
/// to the servers of a project.
const BROWSER_HOST: &str = "ralph.localhost";

/// Interval of checks that the owner of a stream still has access.
const LOOK: Duration = Duration::from_secs(2);

/// The refusal of a code.
const USED_CODE: &str =
    "this code was used already or is older than two minutes; `ralph token --web --code` prints another address";

/// Lifetime of a browser's session cookie.
const SESSION_SECONDS: u32 = 90 * 24 * 3600;

/// Query parameters that look like a token. Tokens in an address are refused.
const IN_THE_ADDRESS: [&str; 6] = ["token", "access_token", "auth", "authorization", "bearer", "session"];

/// Maximum number of refused requests logged per minute.
const MOST_LOGGED: u32 = 10;
const A_MINUTE: Duration = Duration::from_secs(60);

/// Authorizes the clients of a TCP listener.
#[derive(Debug)]
pub struct Authorizer {
    file: TokenFile,
    known: Mutex<TokenCache>,
    /// The address of the listener.
    address: SocketAddr,
    /// Host names of proxies in front of the listener, in lower case, with or without a port.
    proxied: Vec<String>,
    /// Name of the session cookie. It contains the port, because browsers send cookies to all ports of a host.
    cookie: String,
    sessions: Sessions,
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
enum Credential {
    /// A token of this version of the token file.
    Token(Option<FileVersion>),
    /// The cookie of the session with this number.
    Session(u32),
    /// A code, which only begins a session.
    Code,
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
    pub fn open(file: TokenFile, address: SocketAddr, proxied: &[String]) -> Result<Self, TokensError> {
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
            sessions: Sessions::default(),
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
        let login = rows()
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
    fn identify(&self, headers: &HeaderMap, path: &str) -> HttpResult<(ClientRole, Credential)> {
        let (tokens, version) = self.tokens();
        let tokens = tokens.ok_or_else(|| unauthorized("the tokens of this ralph cannot be read"))?;
        if let Some(shown) = headers.get(AUTHORIZATION) {
            if path == "/login"
                && let Some(code) = code_of(headers)
            {
                return match self.sessions.is_code(code, Instant::now()) {
                    true => Ok((ClientRole::User, Credential::Code)),
                    false => Err(unauthorized(USED_CODE)),
                };
            }
            let shown = shown.to_str().ok().and_then(|shown| secret_of(shown, "Bearer"));
            let shown = shown.ok_or_else(|| unauthorized("the token must be in `Authorization: Bearer TOKEN`"))?;
            return match (tokens.full.is(shown), tokens.read_only.is(shown)) {
                (true, _) => Ok((ClientRole::User, Credential::Token(version))),
                (false, true) => Ok((ClientRole::Reader, Credential::Token(version))),
                (false, false) => Err(unauthorized("the token is wrong; `ralph token` prints the right one")),
            };
        }
        let mut shown = self.session_cookies(headers).peekable();
        if shown.peek().is_none() {
            return Err(unauthorized(
                "this needs a token, in `Authorization: Bearer TOKEN`; `ralph token` prints it",
            ));
        }
        let found = shown.find_map(|secret| self.sessions.find(secret, now_ms()));
        let (number, role) = found.ok_or_else(|| {
            unauthorized("this browser is no longer logged in: `ralph token --web --code` prints a new address for it")
        })?;
        Ok((role, Credential::Session(number)))
    }

    /// Whether whoever showed `credential` still has access.
    fn holds(&self, credential: Credential) -> bool {
        let (_, now) = self.tokens();
        match credential {
            Credential::Token(version) => version == now,
            Credential::Session(number) => self.sessions.is_open(number),
            Credential::Code => true,
        }
    }

    /// Ends the stream of an answer once its owner has lost access.
    fn cut_off(self: Arc<Self>, credential: Credential, response: Response) -> Response {
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        let lost = async move {
            while self.holds(credential) {
                sleep(LOOK).await;
            }
        };
        let (parts, body) = response.into_parts();
        let body = body.into_data_stream().take_until(Box::pin(lost));
        Response::from_parts(parts, Body::from_stream(body))
    }

    /// Makes a code with which a browser can log in once, within two minutes.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn make_code(&self) -> io::Result<AccessToken> {
        self.sessions.make_code(Instant::now())
    }

    /// The addresses for a browser: that on this machine, and that of the first proxy.
    pub fn pages(&self) -> Vec<String> {
        let here = match self.address.ip().is_loopback() {
            true => format!("http://{BROWSER_HOST}:{}", self.address.port()),
            false => format!("http://{}", self.address),
        };
        let proxy = self.proxied.first().map(|host| format!("https://{host}"));
        [here].into_iter().chain(proxy).collect()
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
    fn session_cookies<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
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

    /// Returns the current tokens, and the version of their file. `ralph token --revoke` takes effect at once, and ends
    /// all sessions.
    fn tokens(&self) -> (Option<AccessTokens>, Option<FileVersion>) {
        let mut known = self.known.lock();
        let version = self.file.version();
        if version != known.version {
            known.tokens = self.file.read().ok();
            known.version = version;
            self.sessions.end_all();
        }
        (known.tokens.clone(), known.version)
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
        if matches!(port, Some("80" | "443")) && self.proxied.iter().any(|host| host == name) {
            return true;
        }
        // Any port: a tunnel (`ssh -L`) has its own at the other end. Only the name cannot be forged.
        let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
        let address = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
            .unwrap_or(name);
        let is_loopback = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        is_port && (name == "localhost" || name == BROWSER_HOST || is_loopback)
    }

    /// Checks the destination and the origin of a request.
    fn check(&self, request: &Request) -> HttpResult<()> {
        let authority = request.uri().authority().map(|authority| authority.as_str());
        let is_meant = |host: &&str| self.is_own(host) && authority.is_none_or(|authority| authority == *host);
        let host = one(request.headers(), &HOST).ok().flatten().filter(is_meant);
        let host = host.ok_or_else(|| {
            ApiProblem::new(
                StatusCode::MISDIRECTED_REQUEST,
                "this host name is not allowed; use 127.0.0.1, localhost, ralph.localhost or a name given with `--behind-proxy`",
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
        let mut log = self.log.lock();
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

    /// Begins a session, and returns the cookie that the browser sends from now on in place of its token or code.
    fn begin_session(&self, role: ClientRole, headers: &HeaderMap) -> HttpResult<HeaderValue> {
        let browser = headers.get(USER_AGENT).and_then(|name| name.to_str().ok());
        let secret = self.sessions.begin(role, browser.unwrap_or_default(), now_ms());
        let secret = secret.map_err(|error| ApiProblem::failed(error.to_string()))?;
        Ok(self.cookie(secret.secret(), SESSION_SECONDS, headers))
    }

    fn cookie(&self, secret: &str, seconds: u32, headers: &HeaderMap) -> HeaderValue {
        // `Secure` cookies are not sent over plain HTTP, which is used on this machine.
        let is_secure = !self.proxied.is_empty() && headers.get(FORWARDED_PROTO).is_some_and(|proto| proto == "https");
        let secure = if is_secure { "; Secure" } else { "" };
        let name = &self.cookie;
        let cookie = format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
        HeaderValue::from_str(&cookie).expect("a secret consists of digits")
    }

    /// The address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Middleware that accepts requests to this listener from its own page or from no page.
async fn only_from_here(State(access): State<Arc<Authorizer>>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = match access.check(&request) {
        Ok(()) => {
            let takes_deflate = takes_deflate(request.headers());
            compressed_json(takes_deflate, next.run(request).await).await
        }
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
        Ok((role, credential)) => {
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
                    request.extensions_mut().insert(credential);
                    let response = next.run(request).await;
                    access.cut_off(credential, response)
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

fn admitted(
    access: &Authorizer,
    request: &Request,
    caller: Option<&TcpClient>,
) -> HttpResult<(ClientRole, Credential)> {
    let headers = request.headers();
    let (role, credential) = access.identify(headers, request.uri().path())?;
    let is_cookie = matches!(credential, Credential::Session(_));
    let looks = is_looking(request.method());
    // Another page can have a browser send requests here, although it never sees the answers.
    let site = headers
        .get(FETCH_SITE)
        .map_or("none", |site| site.to_str().unwrap_or_default());
    if is_cookie && !matches!(site, "none" | "same-origin") {
        return Err(ApiProblem::forbidden("another page's requests are refused"));
    }
    if is_cookie && !looks && !headers.contains_key(ORIGIN) {
        return Err(ApiProblem::forbidden(
            "commands from a browser need the header `Origin`; a program uses the token",
        ));
    }
    if role == ClientRole::Reader && !looks && !matches!(request.uri().path(), "/login" | "/logout") {
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
    Ok((role, credential))
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

/// The rights of a client.
#[derive(Serialize, crate::schema::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LoggedIn {
    /// Whether the client can only look.
    read_only: bool,
}

/// A code for the page's address.
#[derive(Serialize, crate::schema::JsonSchema)]
struct NewCode {
    /// To be sent as `Authorization: Code CODE` to `POST /login`, or after `/#code=` in the address of the page.
    code: String,
    /// The addresses with the code: that on this machine, and that of a proxy.
    pages: Vec<String>,
}

routes! { Arc<Authorizer>;
    /// The rights of the client. Over TCP only, as the routes of sessions.
    get "/login" => json(LoggedIn), logged_in;
    /// Gives a browser a session, as a cookie: for the token in `Authorization`, or for a code in `Authorization: Code
    /// CODE`, which works once and for two minutes. Sessions end with the server.
    post "/login" => json(LoggedIn), login;
    /// The sessions of browsers, the one that was used last first. For the user.
    get "/sessions" => json(Vec<SessionEntry>), sessions;
    /// Ends session `n`. Its streams end within seconds. For the user. 404 if there is none.
    post "/sessions/{n}/end" in u32, => nothing, end_session;
    /// Makes a code with which a browser can log in. For the user.
    post "/codes" => json(NewCode), new_code;
    /// Ends the session of the browser that asks.
    post "/logout" => nothing, logout;
}

async fn logged_in(Extension(role): Extension<ClientRole>) -> Json<LoggedIn> {
    Json(LoggedIn {
        read_only: role != ClientRole::User,
    })
}

async fn login(
    Caller(access, role): Caller<Authorizer>,
    Extension(credential): Extension<Credential>,
    headers: HeaderMap,
) -> HttpResult<Response> {
    if role == ClientRole::Agent {
        return Err(ApiProblem::forbidden(
            "called from within the run: an agent has no browser to log in",
        ));
    }
    if credential == Credential::Code {
        let is_taken = code_of(&headers).is_some_and(|code| access.sessions.take_code(code, Instant::now()));
        if !is_taken {
            return Err(unauthorized(USED_CODE));
        }
    }
    let cookie = access.begin_session(role, &headers)?;
    let body = Json(LoggedIn {
        read_only: role == ClientRole::Reader,
    });
    Ok(([(SET_COOKIE, cookie)], body).into_response())
}

async fn sessions(Caller(access, role): Caller<Authorizer>) -> HttpResult<Json<Vec<SessionEntry>>> {
    only_user(role)?;
    Ok(Json(access.sessions.list()))
}

async fn end_session(Caller(access, role): Caller<Authorizer>, Path(number): Path<u32>) -> HttpResult<StatusCode> {
    only_user(role)?;
    match access.sessions.end(number) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiProblem::not_found(format!(
            "there is no session {number}; GET /sessions lists them"
        ))),
    }
}

async fn new_code(Caller(access, role): Caller<Authorizer>) -> HttpResult<Json<NewCode>> {
    only_user(role)?;
    let code = access
        .make_code()
        .map_err(|error| ApiProblem::failed(error.to_string()))?;
    let code = code.secret().to_owned();
    let pages = access.pages().into_iter().map(|page| format!("{page}/#code={code}"));
    Ok(Json(NewCode {
        pages: pages.collect(),
        code,
    }))
}

async fn logout(
    State(access): State<Arc<Authorizer>>,
    Extension(credential): Extension<Credential>,
    headers: HeaderMap,
) -> Response {
    if let Credential::Session(number) = credential {
        access.sessions.end(number);
    }
    let gone = access.cookie("", 0, &headers);
    (StatusCode::NO_CONTENT, [(SET_COOKIE, gone)]).into_response()
}

fn only_user(role: ClientRole) -> HttpResult<()> {
    match role {
        ClientRole::User => Ok(()),
        ClientRole::Reader | ClientRole::Agent => Err(ApiProblem::forbidden(
            "only the user can see or change the sessions of browsers",
        )),
    }
}

fn is_looking(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// Returns the secret of `SCHEME SECRET`.
fn secret_of<'a>(shown: &'a str, scheme: &str) -> Option<&'a str> {
    let (named, secret) = shown.split_once(' ')?;
    named.eq_ignore_ascii_case(scheme).then_some(secret.trim())
}

/// Returns the code that the client shows.
fn code_of(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(AUTHORIZATION)?
        .to_str()
        .ok()
        .and_then(|shown| secret_of(shown, "Code"))
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
