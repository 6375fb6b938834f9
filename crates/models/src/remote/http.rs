//! Requests by POST over plain HTTP.

use super::RemoteOptions;
use super::line::{Channel, Fault, excerpt};
use crate::fault::fault;
use exegete_core::Result;
use std::io::ErrorKind;
use std::time::Duration;
use ureq::http::{Response, StatusCode, Uri};
use ureq::{Agent, Body, Proxy};

/// The longest answer: thirty-two rows of a thousand labels take a megabyte.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// An endpoint with its pool of connections.
pub(super) struct Http {
    agent: Agent,
    uri: Uri,
    timeout: Duration,
}

impl Http {
    /// Nothing is sent yet.
    pub(super) fn new(address: &str, options: &RemoteOptions) -> Result<Self> {
        let shown = without_password(address);
        let uri: Uri = address.parse().map_err(|e| fault(&shown, format!("is no address: {e}")))?;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(fault(shown, "names no host; write http://localhost:8000"));
        }
        let port =
            uri.authority().is_some_and(|a| a.as_str().rsplit(['@', ']']).next().unwrap_or("").contains(':'));
        if port && uri.port_u16().is_none() {
            return Err(fault(shown, "names no port; those are numbers up to 65535"));
        }
        let own = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let config = Agent::config_builder()
            .timeout_global(Some(options.timeout))
            .http_status_as_error(false)
            // A POST that is sent elsewhere would lose its body; the user should know the right address.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections_per_host(options.concurrency)
            .user_agent(concat!("exegete/", env!("CARGO_PKG_VERSION")))
            // A proxy cannot reach this machine's own address.
            .proxy(if own { None } else { Proxy::try_from_env() });
        Ok(Self { agent: config.build().into(), uri, timeout: options.timeout })
    }

    fn fault(&self, error: ureq::Error) -> Fault {
        let running = "is the server running at this address?";
        match error {
            ureq::Error::Timeout(_) => self.late(),
            ureq::Error::Io(error) if error.kind() == ErrorKind::TimedOut => self.late(),
            ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => {
                Fault::passing("the connection was refused", running)
            }
            ureq::Error::HostNotFound => Fault::passing("there is no such host", "check the address"),
            ureq::Error::BodyExceedsLimit(_) => too_long(),
            ureq::Error::Io(error) => Fault::passing(format!("the connection failed: {error}"), running),
            ureq::Error::Protocol(error) => {
                Fault::passing(format!("the answer breaks off or is not HTTP: {error}"), running)
            }
            other => Fault::lasting(format!("cannot be asked: {other}"), "check the address"),
        }
    }

    fn late(&self) -> Fault {
        let what = format!("did not answer within {} s", self.timeout.as_secs_f64());
        Fault::passing(what, "raise --timeout or lower --batch")
    }
}

impl Channel for Http {
    fn ask(&self, request: &[u8]) -> Result<Vec<u8>, Fault> {
        let post = self.agent.post(&self.uri).header("content-type", "application/json");
        let mut response = post.send(request).map_err(|error| self.fault(error))?;
        let body = response.body_mut().with_config().limit(MOST_BYTES).read_to_vec();
        if !response.status().is_success() {
            return Err(refused(&response, &body.unwrap_or_default()));
        }
        body.map_err(|error| self.fault(error))
    }
}

/// What a status that is no success means: the server's own troubles may pass, ours do not.
fn refused(response: &Response<Body>, body: &[u8]) -> Fault {
    let status = response.status();
    if let Some(place) = response.headers().get("location").filter(|_| status.is_redirection()) {
        let what = format!("answered with status {status} and sends us to {}", excerpt(place.as_bytes()));
        return Fault::lasting(what, "give the address where the model really is");
    }
    let what = format!("answered with status {status}: {}", excerpt(body));
    let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
    if status.is_server_error() || passing.contains(&status) {
        return Fault::passing(what, "the server's own log should say more");
    }
    Fault::lasting(what, "check the address, and that it takes a POST of {\"texts\":[…]}")
}

pub(super) fn too_long() -> Fault {
    let what = format!("the answer is longer than {} MiB", MOST_BYTES >> 20);
    Fault::lasting(what, "send only scores and labels, or lower --batch")
}

/// The address without a user's name and password: it names the model in reports that are handed on.
pub(super) fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://").filter(|(scheme, _)| scheme.starts_with("http"))
    else {
        return address.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}
