//! Who may use the API over TCP: whoever has a token, from a page or a program that the user has chosen.
//!
//! Any page that its user looks at can send requests to this machine, and any program of another user. A browser adds its
//! cookies to such requests by itself, so that a cookie alone proves nothing: what commands has to come from the page that the
//! cookie was given to. No answer allows another page to read it (CORS).

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
            AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, ORIGIN, REFERRER_POLICY, SET_COOKIE,
            WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
        },
    },
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::post,
};
use ralph_state::{
    control::Role,
    store::tokens::{Token, TokenFile, Tokens, TokensError, Version},
};
use ralph_system::proc::Origin;
use serde::Serialize;
use tracing::warn;

use super::{
    json::Json,
    problem::{Answered, Problem},
    tcp::Caller,
};

/// What every browser is told; an answer may say more of itself.
const HEADERS: [(HeaderName, &str); 6] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (CACHE_CONTROL, "no-store"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
];

/// Where a browser says what a request is for.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Where a proxy says how it was asked.
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// How long a browser stays logged in.
const SESSION_SECONDS: u32 = 90 * 24 * 3600;

/// Parameters of an address that somebody may take for the place of a token.
const IN_THE_ADDRESS: [&str; 6] = ["token", "access_token", "auth", "authorization", "bearer", "session"];

/// Refused requests that are logged in a minute.
const MOST_LOGGED: u32 = 10;
const A_MINUTE: Duration = Duration::from_secs(60);

/// Decides who may use a TCP listener, and for what.
#[derive(Debug)]
pub(crate) struct Access {
    file: TokenFile,
    known: Mutex<Known>,
    /// The address that is listened at.
    address: SocketAddr,
    /// Names under which a proxy is known, in lower case, each with a port or without.
    proxied: HashSet<String>,
    /// Cookies are for a host and not for a port: another ralph on this one has another name.
    cookie: String,
    log: Mutex<Log>,
}

/// The tokens as the file has them.
#[derive(Debug)]
struct Known {
    version: Option<Version>,
    /// None while the file cannot be read: then there is no token that is right.
    tokens: Option<Tokens>,
}

/// How somebody has shown who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    Header,
    Cookie,
}

/// What has been logged lately.
#[derive(Debug)]
struct Log {
    since: Instant,
    logged: u32,
    left_out: u64,
}

impl Access {
    /// Lets in whoever has a token of `file`, which is made if it is not there. `address` is where the listener is, `proxied`
    /// are the names (`HOST` or `HOST:PORT`) under which a proxy passes requests on to it.
    ///
    /// # Errors
    /// [`TokensError`].
    pub(crate) fn open(file: TokenFile, address: SocketAddr, proxied: &[String]) -> Result<Self, TokensError> {
        let tokens = file.read_or_make()?;
        Ok(Self {
            known: Mutex::new(Known {
                version: file.version(),
                tokens: Some(tokens),
            }),
            file,
            address,
            proxied: proxied.iter().map(|host| host.to_ascii_lowercase()).collect(),
            cookie: format!("ralph-{}", address.port()),
            log: Mutex::new(Log {
                since: Instant::now(),
                logged: 0,
                left_out: 0,
            }),
        })
    }

    /// Puts `routes` behind the token and the route that gives a browser its cookie beside them; `public` has no secrets. Every
    /// request has its [`Role`] among its extensions where it reaches `routes`.
    pub(crate) fn guard(self: &Arc<Self>, routes: Router, public: Router) -> Router {
        let login = Router::new().route("/login", post(login)).with_state(Arc::clone(self));
        let known = routes
            .merge(login)
            .layer(from_fn_with_state(Arc::clone(self), only_known));
        let public = public.layer(from_fn_with_state(Arc::clone(self), only_looking));
        public
            .merge(known)
            .layer(from_fn_with_state(Arc::clone(self), only_from_here))
    }

    /// Whoever has shown who they are, and how.
    fn identify(&self, headers: &HeaderMap) -> Answered<(Role, Proof)> {
        let tokens = self
            .tokens()
            .ok_or_else(|| unauthorized("the tokens of this ralph cannot be read"))?;
        if let Some(shown) = headers.get(AUTHORIZATION) {
            let shown = shown.to_str().ok().and_then(bearer);
            let shown = shown.ok_or_else(|| unauthorized("the token goes into `Authorization: Bearer TOKEN`"))?;
            return match (tokens.full.is(shown), tokens.read_only.is(shown)) {
                (true, _) => Ok((Role::User, Proof::Header)),
                (false, true) => Ok((Role::Reader, Proof::Header)),
                (false, false) => Err(unauthorized("the token is not the right one; `ralph token` prints it")),
            };
        }
        let sessions: Vec<&str> = self.sessions(headers).collect();
        if sessions.is_empty() {
            return Err(unauthorized(
                "this needs a token, in `Authorization: Bearer TOKEN`; `ralph token` prints it",
            ));
        }
        let is_one = |session: &Token| sessions.iter().any(|shown| session.is(shown));
        match (is_one(&tokens.full_session), is_one(&tokens.read_only_session)) {
            (true, _) => Ok((Role::User, Proof::Cookie)),
            (false, true) => Ok((Role::Reader, Proof::Cookie)),
            (false, false) => Err(unauthorized(
                "this browser is not logged in any more: open the link with a token again",
            )),
        }
    }

    /// Returns the role in which a token for `role` is taken from a process of that origin.
    ///
    /// A proxy may run as another user. Without a proxy only this user has a reason to connect: a session that another user shows
    /// was taken from a browser while that user had the port.
    fn role_of(&self, role: Role, origin: Origin) -> Answered<Role> {
        match origin {
            Origin::Elsewhere => Ok(role),
            Origin::OtherUser if !self.proxied.is_empty() => Ok(role),
            Origin::OtherUser => Err(Problem::forbidden(
                "this connection is of another user of this machine; a proxy of another user is named with `--behind-proxy`",
            )),
            Origin::Run | Origin::Unknown => Ok(Role::Agent),
        }
    }

    /// What the cookies say that could be a session of this ralph.
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

    /// The tokens as they are now: `ralph token --revoke` counts at once.
    fn tokens(&self) -> Option<Tokens> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.file.version();
        if version != known.version {
            known.tokens = self.file.read().ok();
            known.version = version;
        }
        known.tokens.clone()
    }

    /// Whether `host` is one under which this listener is meant to be reached. A name that leads to this machine and is none of
    /// its own is somebody else's page (DNS rebinding).
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
        // Any port: a tunnel (`ssh -L`) has one of its own at the other end, and the name is what cannot be forged.
        let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
        let address = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
            .unwrap_or(name);
        let is_loopback = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        is_port && (name == "localhost" || is_loopback)
    }

    /// Looks at where a request goes to and where it comes from.
    fn check(&self, request: &Request) -> Answered<()> {
        let authority = request.uri().authority().map(|authority| authority.as_str());
        let is_meant = |host: &&str| self.is_own(host) && authority.is_none_or(|authority| authority == *host);
        let host = one(request.headers(), &HOST).ok().flatten().filter(is_meant);
        let host = host.ok_or_else(|| {
            Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                "the address in this request is not one of this ralph's: it is reached as 127.0.0.1, as localhost, or as \
                 `--behind-proxy` says",
            )
        })?;
        let foreign = || Problem::forbidden("another page's requests are refused");
        match one(request.headers(), &ORIGIN) {
            Ok(None) => {}
            Ok(Some(origin)) if self.is_own_page(origin, host) => {}
            Ok(Some(_)) | Err(_) => return Err(foreign()),
        }
        if names_token(request.uri()) {
            return Err(Problem::bad_request(
                "a token in an address ends in histories and logs: send it as `Authorization: Bearer TOKEN`, and make another \
                 with `ralph token --revoke` if this one was real",
            ));
        }
        Ok(())
    }

    /// Whether a page that a browser has from `origin` is one of this listener's, which was asked as `host`.
    fn is_own_page(&self, origin: &str, host: &str) -> bool {
        let page = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        page.is_some_and(|page| {
            let page = page.to_ascii_lowercase();
            // A proxy may pass a request on under another name than it has itself.
            page == host.to_ascii_lowercase() || self.proxied.contains(&page)
        })
    }

    /// Logs that a request was refused: never what is in it, and not each of a flood.
    fn note(&self, method: &Method, path: &str, problem: &Problem) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.since.elapsed() >= A_MINUTE {
            *log = Log {
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

    /// What a browser is to send from now on in place of its token.
    fn cookie_for(&self, role: Role, headers: &HeaderMap) -> Option<HeaderValue> {
        let tokens = self.tokens()?;
        let session = match role {
            Role::User => tokens.full_session,
            Role::Reader => tokens.read_only_session,
            Role::Agent => return None,
        };
        // A browser does not send a secure cookie over plain HTTP, which is what there is on this machine.
        let is_secure = !self.proxied.is_empty() && headers.get(FORWARDED_PROTO).is_some_and(|proto| proto == "https");
        let secure = if is_secure { "; Secure" } else { "" };
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECONDS}{secure}",
            self.cookie,
            session.secret()
        );
        HeaderValue::from_str(&cookie).ok()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Lets requests through that go to this listener, and come from its own page or from no page at all.
async fn only_from_here(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = match access.check(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            access.note(&method, &path, &problem);
            problem.into_response()
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Lets requests through that have a token, as far as the token goes.
async fn only_known(State(access): State<Arc<Access>>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Arc<Caller>>().map(Arc::clone);
    match admitted(&access, &request, caller.as_deref()) {
        Ok(role) => {
            let role = match caller {
                Some(caller) => access.role_of(role, caller.origin().await),
                // Over a socket with a path, which has looked at its peer.
                None => Ok(match request.extensions().get::<Role>() {
                    Some(Role::Agent) => Role::Agent,
                    Some(Role::User | Role::Reader) | None => role,
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

fn admitted(access: &Access, request: &Request, caller: Option<&Caller>) -> Answered<Role> {
    let headers = request.headers();
    let (role, proof) = access.identify(headers)?;
    let looks = is_looking(request.method());
    // A page elsewhere can have a browser ask for something here, and never learns what was answered.
    let site = headers
        .get(FETCH_SITE)
        .map_or("none", |site| site.to_str().unwrap_or_default());
    if proof == Proof::Cookie && !matches!(site, "none" | "same-origin") {
        return Err(Problem::forbidden("another page's requests are refused"));
    }
    if proof == Proof::Cookie && !looks && !headers.contains_key(ORIGIN) {
        return Err(Problem::forbidden(
            "a browser that commands says which page it is on (`Origin`); a program uses the token",
        ));
    }
    if role == Role::Reader && !looks && request.uri().path() != "/login" {
        return Err(Problem::forbidden("this token is for looking: it commands nothing"));
    }
    if caller.is_some_and(|caller| !caller.is_admitted()) {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many connections at a time: close one",
        ));
    }
    Ok(role)
}

/// Lets through what changes nothing.
async fn only_looking(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    if is_looking(request.method()) {
        return next.run(request).await;
    }
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no such method on this route");
    access.note(request.method(), request.uri().path(), &problem);
    problem.into_response()
}

/// What a browser is told when it is logged in.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct LoggedIn {
    /// Whether it may look and not command.
    read_only: bool,
}

async fn login(
    State(access): State<Arc<Access>>,
    Extension(role): Extension<Role>,
    headers: HeaderMap,
) -> Answered<Response> {
    if role == Role::Agent {
        return Err(Problem::forbidden(
            "called from within the run: an agent has no browser to log in",
        ));
    }
    let cookie = access.cookie_for(role, &headers);
    let cookie = cookie.ok_or_else(|| unauthorized("the tokens of this ralph cannot be read"))?;
    let body = Json(LoggedIn {
        read_only: role == Role::Reader,
    });
    Ok(([(SET_COOKIE, cookie)], body).into_response())
}

fn is_looking(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// The token of `Bearer TOKEN`.
fn bearer(shown: &str) -> Option<&str> {
    let (scheme, token) = shown.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// A header that is repeated, or no text.
struct NotOne;

/// The only value of a header that is not to be repeated.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, NotOne> {
    let mut values = headers.get_all(name).into_iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| NotOne),
        (Some(_), Some(_)) => Err(NotOne),
    }
}

/// Whether the query looks as if it had a token in it.
fn names_token(uri: &Uri) -> bool {
    let parameters = uri.query().unwrap_or_default().split('&');
    let mut names = parameters.map(|parameter| parameter.split('=').next().unwrap_or_default());
    names.any(|name| IN_THE_ADDRESS.iter().any(|token| name.eq_ignore_ascii_case(token)))
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, detail)
}

fn refusal(problem: Problem) -> Response {
    let is_unknown = problem.status() == StatusCode::UNAUTHORIZED;
    let mut response = problem.into_response();
    if is_unknown {
        let how = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, how);
    }
    response
}
