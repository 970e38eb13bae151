use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use frond_account::{AccountId, ServiceImport, StreamImport};
use frond_subject::{TokenHash, Tree, is_literal};

use crate::limits::{CACHED_MATCHES_MAX, CACHED_SUBJECTS_BYTES_MAX, CACHED_SUBSCRIBERS_MAX};
use crate::shadows::Shadow;
use crate::slab::Slab;
use crate::{LinkId, LinkKind, Source};

/// A subscription's place in the table of all of them.
pub(crate) type SubId = u32;

/// One subscription, whoever made it.
#[derive(Debug)]
pub(crate) struct Sub {
    pub(crate) account: AccountId,
    pub(crate) filter: Arc<str>,
    pub(crate) queue: Option<Arc<str>>,
    pub(crate) owner: Owner,
    /// Messages so far.
    pub(crate) delivered: u64,
    /// Removed after so many messages; 0 is never.
    pub(crate) max: u64,
    /// Whether its user's denies must be checked for each message.
    pub(crate) filtered: bool,
    pub(crate) tie: Tie,
}

impl Sub {
    /// Whether the other servers of a cluster serve it themselves: imported services, what the
    /// system serves in each account, and as long as streams are not replicated what JetStream
    /// listens on, each server for its own streams.
    pub(crate) fn stays_here(&self, system: AccountId) -> bool {
        match &self.owner {
            Owner::Import(_) => true,
            Owner::Internal(_) => {
                let is_system = self.filter.starts_with("$SYS.") && self.account != system;
                is_system || self.filter.starts_with("$JS.")
            }
            Owner::Client { .. } | Owner::Link { .. } | Owner::Responses => false,
        }
    }
}

/// How a subscription is tied to others by imported messages.
#[derive(Debug, Default)]
pub(crate) enum Tie {
    #[default]
    None,
    /// Its shadows in other accounts.
    Shadows(Box<[SubId]>),
    /// It is a shadow.
    Shadow(Box<Shadow>),
}

/// Who gets the messages of a subscription.
#[derive(Clone, Debug)]
pub(crate) enum Owner {
    /// A client, by its place in the table of connections.
    Client { slot: u32, sid: Box<str> },
    /// This server, under a number the caller chose.
    Internal(u64),
    /// Another server; the weight counts for queue groups.
    Link {
        link: LinkId,
        weight: u32,
        kind: LinkKind,
        /// The cluster of the leafnode that a route speaks for.
        origin: Option<Arc<str>>,
    },
    /// An account that exports a service.
    Import(Arc<ServiceImport>),
    /// Whoever waits for answers to requests of other accounts.
    Responses,
}

/// Who subscribes to what in one account.
#[derive(Debug)]
pub(crate) struct Interest {
    tree: Tree<SubId>,
    cache: HashMap<Box<str>, Rc<Matches>, TokenHash>,
    /// What was put into it since it was last empty.
    cached: Cached,
    /// The subject asked for last and its matches: publishers repeat themselves.
    last: (String, Option<Rc<Matches>>),
    /// The matches of a subject that isn't remembered; its memory is used again and again.
    one_off: Rc<Matches>,
    counts: InterestCounts,
}

/// What a cache of matches may hold at most: those that went are in it.
#[derive(Clone, Copy, Debug, Default)]
struct Cached {
    subscribers: usize,
    subject_bytes: usize,
}

/// What happened in an account's interest since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterestCounts {
    /// Subscriptions added.
    pub inserts: u64,
    /// Subscriptions removed.
    pub removes: u64,
    /// Subjects that were looked up, from memory or not.
    pub matches: u64,
    /// Of those, not from memory.
    pub misses: u64,
}

/// All subscriptions that want one subject.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// Of clients and of this server.
    pub(crate) plain: Vec<SubId>,
    /// Links with at least one plain subscription.
    pub(crate) links: Vec<LinkId>,
    /// Links bound to another account, and the import that brings them the message.
    pub(crate) importing: Vec<(LinkId, Arc<StreamImport>)>,
    /// Links to other clusters with at least one plain subscription.
    pub(crate) gateways: Vec<LinkId>,
    /// Queue groups.
    pub(crate) groups: Vec<Group>,
}

/// The members of one queue group that want one subject.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: Arc<str>,
    /// Of clients and of this server.
    pub(crate) local: Vec<SubId>,
    /// Of other servers.
    pub(crate) remote: Vec<Remote>,
}

/// The members of a queue group behind one link.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) link: LinkId,
    pub(crate) kind: LinkKind,
    /// At least 1.
    pub(crate) weight: u32,
    /// The cluster of the leafnode they are at, behind a route.
    pub(crate) origin: Option<Arc<str>>,
}

/// A change that has yet to be told.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) account: AccountId,
    pub(crate) filter: Arc<str>,
    pub(crate) queue: Option<Arc<str>>,
    pub(crate) source: Source,
    /// The cluster that the source's link leads to.
    pub(crate) cluster: Option<Arc<str>>,
    pub(crate) stays_here: bool,
    pub(crate) delta: i32,
}

impl Interest {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            tree: Tree::seeded(seed),
            cache: HashMap::with_hasher(TokenHash::seeded(seed)),
            cached: Cached::default(),
            last: (String::new(), None),
            one_off: Rc::default(),
            counts: InterestCounts::default(),
        }
    }

    /// Whether the filter was valid and now counts.
    pub(crate) fn insert(&mut self, filter: &str, id: SubId) -> bool {
        self.outdate(filter);
        let counts = self.tree.insert(filter, id);
        self.counts.inserts += u64::from(counts);
        counts
    }

    pub(crate) fn remove(&mut self, filter: &str, id: SubId) {
        self.outdate(filter);
        self.tree.remove(filter, &id);
        self.counts.removes += 1;
    }

    pub(crate) fn has(&self, subject: &str) -> bool {
        self.tree.has_match(subject)
    }

    /// Calls `found` for each subscription that `subject` fits, without remembering the answer.
    pub(crate) fn each_match(&self, subject: &str, found: &mut impl FnMut(SubId)) {
        self.tree.for_each_match(subject, &mut |id| found(*id));
    }

    pub(crate) fn has_exactly(&self, filter: &str) -> bool {
        !self.tree.get(filter).is_empty()
    }

    /// The subscriptions with exactly this filter.
    pub(crate) fn exactly(&self, filter: &str) -> &[SubId] {
        self.tree.get(filter)
    }

    pub(crate) fn len(&self) -> usize {
        self.tree.len()
    }

    pub(crate) fn cached(&self) -> usize {
        self.cache.len()
    }

    pub(crate) const fn counts(&self) -> InterestCounts {
        self.counts
    }

    /// How many want each of the subjects that are remembered.
    pub(crate) fn fanouts(&self) -> impl Iterator<Item = usize> {
        self.cache.values().map(|found| found.len())
    }

    /// Who wants `subject`, from memory when it was asked before.
    pub(crate) fn matches(&mut self, subject: &str, subs: &Slab<Sub>) -> Rc<Matches> {
        self.counts.matches += 1;
        if let (last, Some(known)) = &self.last
            && last == subject
        {
            return Rc::clone(known);
        }
        self.last.1 = None;
        let found = match self.cache.get(subject) {
            Some(known) => Rc::clone(known),
            None => self.look_up(subject, subs),
        };
        self.last.0.clear();
        self.last.0.push_str(subject);
        self.last.1 = Some(Rc::clone(&found));
        found
    }

    fn look_up(&mut self, subject: &str, subs: &Slab<Sub>) -> Rc<Matches> {
        self.counts.misses += 1;
        if is_one_off(subject) {
            if Rc::get_mut(&mut self.one_off).is_none() {
                self.one_off = Rc::default();
            }
            if let Some(found) = Rc::get_mut(&mut self.one_off) {
                found.fill(&self.tree, subject, subs);
            }
            return Rc::clone(&self.one_off);
        }
        let mut found = Matches::default();
        found.fill(&self.tree, subject, subs);
        let found = Rc::new(found);
        self.remember(subject, &found);
        found
    }

    fn remember(&mut self, subject: &str, found: &Rc<Matches>) {
        let subscribers = self.cached.subscribers + found.subscribers();
        let subject_bytes = self.cached.subject_bytes + subject.len();
        if self.cache.len() >= CACHED_MATCHES_MAX
            || subscribers > CACHED_SUBSCRIBERS_MAX
            || subject_bytes > CACHED_SUBJECTS_BYTES_MAX
        {
            self.forget();
        }
        self.cached.subscribers += found.subscribers();
        self.cached.subject_bytes += subject.len();
        self.cache.insert(subject.into(), Rc::clone(found));
    }

    fn forget(&mut self) {
        self.cache.clear();
        self.cached = Cached::default();
    }

    /// Forgets the answers that a change of `filter` makes wrong.
    pub(crate) fn outdate(&mut self, filter: &str) {
        self.last.1 = None;
        if is_literal(filter) {
            self.cache.remove(filter);
        } else {
            self.forget();
        }
    }
}

/// Inboxes and acknowledgements: hardly any of these subjects is ever used twice.
fn is_one_off(subject: &str) -> bool {
    subject.starts_with('_') || subject.starts_with("$JS.ACK.")
}

impl Matches {
    pub(crate) fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.links.is_empty() && self.groups.is_empty()
    }

    /// Finds everybody anew.
    fn fill(&mut self, tree: &Tree<SubId>, subject: &str, subs: &Slab<Sub>) {
        self.plain.clear();
        self.links.clear();
        self.gateways.clear();
        self.importing.clear();
        self.groups.clear();
        tree.for_each_match(subject, &mut |id| {
            if let Some(sub) = subs.get(*id) {
                self.add(*id, sub);
            }
        });
    }

    /// Plain subscriptions, links and queue groups.
    fn len(&self) -> usize {
        self.plain.len() + self.links.len() + self.gateways.len() + self.groups.len()
    }

    /// How many there are, members of queue groups included.
    fn subscribers(&self) -> usize {
        let groups = self.groups.iter();
        let members = groups.map(|group| group.local.len() + group.remote.len());
        self.plain.len() + self.links.len() + self.gateways.len() + members.sum::<usize>()
    }

    fn add(&mut self, id: SubId, sub: &Sub) {
        if let (Owner::Link { link, .. }, Tie::Shadow(shadow)) = (&sub.owner, &sub.tie)
            && !self.importing.iter().any(|(known, _)| known == link)
        {
            self.importing.push((*link, Arc::clone(&shadow.import)));
        }
        match (&sub.queue, &sub.owner) {
            (_, Owner::Import(_) | Owner::Responses)
            | (None, Owner::Client { .. } | Owner::Internal(_)) => self.plain.push(id),
            (
                None,
                Owner::Link {
                    link,
                    kind: LinkKind::Gateway,
                    ..
                },
            ) => {
                if !self.gateways.contains(link) {
                    self.gateways.push(*link);
                }
            }
            (None, Owner::Link { link, .. }) => {
                if !self.links.contains(link) {
                    self.links.push(*link);
                }
            }
            (Some(queue), Owner::Client { .. } | Owner::Internal(_)) => {
                self.group(queue).local.push(id);
            }
            (
                Some(queue),
                Owner::Link {
                    link,
                    weight,
                    kind,
                    origin,
                },
            ) => self.group(queue).remote.push(Remote {
                link: *link,
                kind: *kind,
                weight: (*weight).max(1),
                origin: origin.clone(),
            }),
        }
    }

    fn group(&mut self, name: &Arc<str>) -> &mut Group {
        let at = self.groups.iter().position(|group| group.name == *name);
        let at = at.unwrap_or_else(|| {
            self.groups.push(Group {
                name: Arc::clone(name),
                local: Vec::new(),
                remote: Vec::new(),
            });
            self.groups.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "found or pushed just above")]
        &mut self.groups[at]
    }
}
