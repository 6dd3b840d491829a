//! Where the metrics come from: an address that speaks HTTP.

use std::time::Duration;

use anyhow::Result;
use springbloom_console::bad_input;
use ureq::Agent;
use ureq::http::Uri;
use ureq::http::header::{CONTENT_TYPE, HeaderValue};
use ureq::http::uri::Authority;

use super::reading::{PREFIX, Reading};
use super::text;

/// A server that does not answer is not waited for any longer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Metrics of 100,000 column families.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// An address with metrics.
#[derive(Clone)]
pub(super) struct Endpoint {
    agent: Agent,
    pub(super) url: String,
}

impl Endpoint {
    /// Of an address as the user wrote it; `http://` may be left out.
    pub(super) fn new(given: &str) -> Result<Self> {
        let url = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
        let wrong = |why: &str| {
            bad_input(format!("{given} {why}: expected a URL such as http://localhost:9090/metrics"))
        };
        let uri: Uri = url.parse().map_err(|error| wrong(&format!("is no URL ({error})")))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(wrong("asks for TLS, which this command does not speak")),
            _ => return Err(wrong("does not ask for HTTP")),
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(wrong("names no host"));
        }
        let after_host =
            |at: &Authority| at.as_str().rsplit(['@', ']']).next().is_some_and(|end| end.contains(':'));
        if uri.authority().is_some_and(after_host) && uri.port_u16().is_none() {
            return Err(wrong("has a port that is none, expected 1 to 65535"));
        }
        let config = Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false);
        Ok(Self { agent: config.build().into(), url })
    }

    /// Asks for the metrics.
    ///
    /// # Errors
    /// No answer, one without the metrics of Springbloom, or values that are none of its.
    pub(super) fn read(&self) -> Result<Reading> {
        let Self { agent, url } = self;
        let unreadable = |error: ureq::Error| {
            let why = match error {
                ureq::Error::Io(error) => error.to_string(),
                other => other.to_string(),
            };
            bad_input(format!("cannot read {url}: {why}"))
        };
        let mut answer = agent.get(url).call().map_err(unreadable)?;
        if !answer.status().is_success() {
            return Err(bad_input(format!(
                "{url} answers {}: is this where the metrics are?",
                answer.status()
            )));
        }
        let text =
            answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string().map_err(unreadable)?;
        if text.trim().is_empty() {
            return Err(bad_input(format!(
                "{url} answers with an empty page, expected metrics of Springbloom: is this where the metrics are?"
            )));
        }
        let others = || {
            bad_input(format!("{url} answers, but without metrics of Springbloom: is it another program's?"))
        };
        if !text::tells_of(&text, PREFIX) {
            return Err(others());
        }
        let is_open_metrics =
            |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/openmetrics-text");
        if text::is_cut_off(&text, answer.headers().get(CONTENT_TYPE).is_some_and(is_open_metrics)) {
            return Err(bad_input(format!(
                "{url} answers with metrics that are cut off, expected a last line of \"# EOF\": try again, or look at what serves them"
            )));
        }
        let reading = Reading::of(&text)
            .map_err(|error| bad_input(format!("{url} answers with what Springbloom never says: {error}")))?;
        reading.ok_or_else(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_cannot_be_read_are_told() {
        for (given, expected) in [
            ("https://localhost/metrics", "TLS"),
            ("ftp://localhost/metrics", "does not ask for HTTP"),
            ("http://", "is no URL"),
            ("http://local host/", "is no URL"),
            ("", "is no URL"),
            ("localhost:99999/metrics", "has a port that is none"),
            ("http://[::1]:65536/", "has a port that is none"),
            ("http://localhost:/", "has a port that is none"),
        ] {
            let error = Endpoint::new(given).err().expect(given).to_string();
            assert!(error.contains(expected) && error.contains("http://localhost:9090/metrics"), "{error}");
        }
        for given in ["http://[::1]/metrics", "http://[::1]:9090/", "user:word@localhost/metrics"] {
            assert!(Endpoint::new(given).is_ok(), "{given}");
        }
        assert_eq!(
            Endpoint::new("localhost:9090/metrics").expect("a URL").url,
            "http://localhost:9090/metrics"
        );
    }
}
