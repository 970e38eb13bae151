use core::net::IpAddr;

use frond_clock::Rng;

use crate::limits::{DISCOVERED_URL_BYTES_MAX, DISCOVERED_URLS_MAX};
use crate::remote::RemoteUrl;

/// Where to dial next: configured urls and those the hub told of, in turn.
///
/// After a link is lost its own url comes first: the hub that just restarted is the likeliest
/// to answer, and a discovered one may not be reachable from here at all.
#[derive(Clone, Debug)]
pub(crate) struct Urls {
    configured: Vec<RemoteUrl>,
    discovered: Vec<RemoteUrl>,
    /// Index into discovered urls followed by configured ones.
    current: usize,
    repeat: bool,
}

impl Urls {
    pub(crate) const fn new(configured: Vec<RemoteUrl>) -> Self {
        Self {
            current: usize::MAX,
            configured,
            discovered: Vec::new(),
            repeat: false,
        }
    }

    pub(crate) fn shuffle(&mut self, rng: &mut Rng) {
        for last in (1..self.configured.len()).rev() {
            self.configured
                .swap(last, rng.below(last as u64 + 1) as usize);
        }
    }

    /// The url to dial now.
    pub(crate) fn advance(&mut self) -> Option<RemoteUrl> {
        if self.repeat {
            self.repeat = false;
        } else {
            self.current = self.current.wrapping_add(1);
        }
        let count = self.discovered.len() + self.configured.len();
        self.current = self.current.checked_rem(count)?;
        self.current().cloned()
    }

    /// The url dialed last.
    pub(crate) fn current(&self) -> Option<&RemoteUrl> {
        self.discovered
            .iter()
            .chain(&self.configured)
            .nth(self.current)
    }

    /// The current url worked: it is the first to try when the link is lost.
    pub(crate) const fn stay(&mut self) {
        self.repeat = true;
    }

    /// The hub's own list, newest: replaces what it said before.
    pub(crate) fn discover(&mut self, told: &[String]) {
        let current = self.current().cloned();
        let known = self.configured.iter().find(|url| url.user.is_some());
        self.discovered = told
            .iter()
            .filter_map(|text| parse(text))
            .filter(|url| !self.configured.iter().any(|other| same_place(other, url)))
            .take(DISCOVERED_URLS_MAX)
            .map(|url| RemoteUrl {
                tls: self.configured.iter().any(|url| url.tls),
                user: known.and_then(|known| known.user.clone()),
                pass: known.and_then(|known| known.pass.clone()),
                ..url
            })
            .collect();
        self.current = current
            .and_then(|current| {
                self.discovered
                    .iter()
                    .chain(&self.configured)
                    .position(|url| same_place(url, &current))
            })
            .unwrap_or(usize::MAX);
    }

    /// The name a hub at this url has to show: its host, or for an address (hubs tell those) the
    /// first configured host that is a name.
    ///
    /// spec: nats-server v2.15.1 server/leafnode.go `saveTLSHostname`
    pub(crate) fn server_name(&self, url: &RemoteUrl) -> String {
        let is_name = |host: &str| host.parse::<IpAddr>().is_err();
        let named = self.configured.iter().find(|other| is_name(&other.host));
        match named {
            Some(named) if !is_name(&url.host) => named.host.clone(),
            Some(_) | None => url.host.clone(),
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.configured.iter().map(ToString::to_string).collect()
    }
}

fn same_place(a: &RemoteUrl, b: &RemoteUrl) -> bool {
    a.host.eq_ignore_ascii_case(&b.host) && a.port == b.port
}

/// `host:port`, with brackets around an IPv6 address. A hub that listens on every address and knows
/// none of its own says `0.0.0.0`, which from here is this machine.
fn parse(text: &str) -> Option<RemoteUrl> {
    if text.len() > DISCOVERED_URL_BYTES_MAX {
        return None;
    }
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = port.parse().ok().filter(|port| *port > 0)?;
    let anywhere = host.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified());
    (!host.is_empty() && !anywhere).then(|| RemoteUrl::new(host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialed(urls: &mut Urls, times: usize) -> Vec<String> {
        (0..times)
            .map(|_| urls.advance().unwrap().to_string())
            .collect()
    }

    fn two() -> Urls {
        let mut first = RemoteUrl::new("a", 1);
        first.user = Some("u".into());
        Urls::new(vec![first, RemoteUrl::new("b", 2)])
    }

    #[test]
    fn urls_take_turns() {
        assert_eq!(dialed(&mut two(), 4), ["a:1", "b:2", "a:1", "b:2"]);
        assert_eq!(Urls::new(Vec::new()).advance(), None);
    }

    #[test]
    fn the_url_that_worked_comes_first() {
        let mut urls = two();
        urls.advance();
        urls.stay();
        assert_eq!(dialed(&mut urls, 3), ["a:1", "b:2", "a:1"]);
    }

    #[test]
    fn discovered_urls_join_and_go() {
        let mut urls = two();
        urls.advance();
        urls.discover(&[
            "A:1".into(),
            "[::1]:7".into(),
            "nonsense".into(),
            "x:0".into(),
            "0.0.0.0:7".into(),
            "[::]:7".into(),
        ]);
        urls.stay();
        assert_eq!(dialed(&mut urls, 4), ["a:1", "b:2", "[::1]:7", "a:1"]);
        urls.advance();
        urls.advance();
        assert_eq!(urls.current().unwrap().user.as_deref(), Some("u"));
        urls.discover(&[]);
        assert_eq!(dialed(&mut urls, 2), ["a:1", "b:2"]);
    }

    #[test]
    fn a_flood_of_urls_is_cut() {
        let mut urls = two();
        let told: Vec<_> = (0..10_000).map(|i| format!("h{i}:1")).collect();
        urls.discover(&told);
        assert_eq!(urls.discovered.len(), DISCOVERED_URLS_MAX);
    }
}
