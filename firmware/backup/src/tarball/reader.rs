use std::collections::VecDeque;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::header::{BLOCK, Header};
use super::index::Index;
use super::progress;
use super::record::{Record, Records};
use crate::buffer::Buffer;
use crate::fault::Fault;
use crate::highway::Highway;
use crate::item::{ConsumerKept, Item};
use crate::limits::{FILE_BYTES_MAX, PAX_BYTES_MAX};

/// Where reading a tar is.
#[derive(Debug, Default)]
pub(crate) struct TarReader {
    place: Place,
    /// What a PAX record said of the file that follows.
    pax: Option<Bytes>,
    /// The stream's name and description.
    stream: Option<(String, Bytes)>,
    consumer: Option<ConsumerKept>,
    last: u64,
    ready: VecDeque<Item>,
    /// An index that is being told, its extent last.
    index: Option<Index>,
    is_over: bool,
}

#[derive(Debug, Default)]
enum Place {
    #[default]
    Header,
    /// A file that is read as a whole.
    Whole(Header),
    /// A message block; so many bytes are left.
    Block(Records, u64, u64),
    /// Nothing of use, so many bytes.
    Skip(u64),
}

#[derive(serde::Deserialize)]
struct Described {
    #[serde(rename = "Created")]
    created: Option<String>,
    #[serde(default)]
    name: String,
}

impl TarReader {
    /// Whether the end was there.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over && self.ready.is_empty()
    }

    /// Bytes that it takes beside what it was given, about.
    pub(crate) fn held(&self) -> usize {
        let pax = self.pax.as_ref().map_or(0, Bytes::len);
        let stream = self.stream.as_ref().map_or(0, |(_, file)| file.len());
        let consumer = self.consumer.as_ref().map_or(0, ConsumerKept::held);
        pax + stream + consumer + self.index.as_ref().map_or(0, Index::held)
    }

    /// The next part; `None` when more bytes are needed.
    pub(crate) fn step(&mut self, plain: &mut Buffer) -> Result<Option<Item>, Fault> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Ok(Some(item));
            }
            if let Some(index) = &mut self.index {
                if let Some(gone) = index.next_gone() {
                    return Ok(Some(Item::Gone(gone)));
                }
                let extent = index.extent;
                self.index = None;
                return Ok(Some(Item::Extent(extent)));
            }
            if self.is_over || !self.advance(plain)? {
                return Ok(self.ready.pop_front());
            }
        }
    }

    /// The bytes end here, between two files.
    pub(crate) fn end(&mut self) -> Result<Option<Item>, Fault> {
        if !matches!(self.place, Place::Header) || self.pax.is_some() {
            return Err(Fault::Truncated);
        }
        if !self.is_over {
            self.over()?;
        }
        Ok(self.ready.pop_front())
    }

    fn over(&mut self) -> Result<(), Fault> {
        if self.stream.is_none() {
            return Err(Fault::content("stream description is missing"));
        }
        self.end_consumer();
        self.ready.push_back(Item::End);
        self.is_over = true;
        Ok(())
    }

    /// Goes on; false when more bytes are needed.
    fn advance(&mut self, plain: &mut Buffer) -> Result<bool, Fault> {
        match &mut self.place {
            Place::Header => self.header(plain),
            Place::Whole(header) => {
                let len = usize::try_from(header.size).map_err(|_| Fault::Tar)?;
                let padded = padded(len);
                if plain.len() < padded {
                    return Ok(false);
                }
                let file = plain.take(len).unwrap_or_default();
                plain.skip(padded - len);
                let Place::Whole(header) = std::mem::take(&mut self.place) else {
                    return Ok(true);
                };
                self.whole(&header, &file)?;
                Ok(true)
            }
            Place::Block(records, left, padding) => {
                if *left == 0 {
                    self.place = Place::Skip(*padding);
                    return Ok(true);
                }
                match records.read(plain.rest(), *left)? {
                    Record::Short => Ok(false),
                    Record::Is(len, item) => {
                        let after = left.checked_sub(len as u64);
                        *left = after.ok_or(Fault::Truncated)?;
                        plain.skip(len);
                        self.record(item);
                        Ok(true)
                    }
                }
            }
            Place::Skip(left) => {
                let now = plain
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                plain.skip(now);
                *left -= now as u64;
                let is_done = *left == 0;
                if is_done {
                    self.place = Place::Header;
                }
                Ok(is_done)
            }
        }
    }

    fn header(&mut self, plain: &mut Buffer) -> Result<bool, Fault> {
        let Some(block) = plain.rest().first_chunk::<BLOCK>() else {
            return Ok(false);
        };
        let header = Header::read(block)?;
        plain.skip(BLOCK);
        let Some(mut header) = header else {
            self.over()?;
            return Ok(true);
        };
        if matches!(header.kind, b'x' | b'g') {
            if header.size > PAX_BYTES_MAX as u64 {
                return Err(Fault::Tar);
            }
            self.place = Place::Whole(header);
            return Ok(true);
        }
        if let Some(pax) = self.pax.take() {
            header.adjust(&pax)?;
        }
        let is_inside = !header.name.starts_with('/') && !header.name.split('/').any(|p| p == "..");
        if !matches!(header.kind, b'0' | 0) || !is_inside {
            return Err(Fault::content(&format!(
                "unexpected content {:?}",
                header.name
            )));
        }
        self.place = self.place_of(header)?;
        Ok(true)
    }

    fn place_of(&self, header: Header) -> Result<Place, Fault> {
        let size = header.size;
        let padded = size.checked_next_multiple_of(BLOCK as u64);
        let padded = padded.ok_or(Fault::Tar)?;
        if let Some(block) = block_number(&header.name) {
            let (stream, _) = self
                .stream
                .as_ref()
                .ok_or_else(|| Fault::content("message block before the stream's description"))?;
            return Ok(Place::Block(
                Records::new(stream, block),
                size,
                padded - size,
            ));
        }
        let is_index = header.name == "msgs/index.db";
        let is_known = is_index
            || matches!(header.name.as_str(), "meta.inf" | "meta.sum" | "errors.txt")
            || header.name.starts_with("obs/");
        match (is_known, size <= FILE_BYTES_MAX as u64) {
            (true, true) => Ok(Place::Whole(header)),
            // Without it the blocks have to do.
            (true, false) if !is_index => {
                Err(Fault::content(&format!("{:?} is too large", header.name)))
            }
            _ => Ok(Place::Skip(padded)),
        }
    }

    fn record(&mut self, item: Option<Item>) {
        match item {
            // A block may hold older copies of what a later one holds.
            Some(Item::Message(message)) if message.seq <= self.last => {}
            Some(Item::Message(message)) => {
                self.last = message.seq;
                self.ready.push_back(Item::Message(message));
            }
            Some(
                item @ (Item::Gone(_)
                | Item::Extent(_)
                | Item::Stream(_)
                | Item::Consumer(_)
                | Item::End),
            ) => self.ready.push_back(item),
            None => {}
        }
    }

    fn whole(&mut self, header: &Header, file: &Bytes) -> Result<(), Fault> {
        match (header.kind, header.name.as_str()) {
            (b'x', _) => self.pax = Some(file.clone()),
            (b'g', _) => {}
            (_, "meta.inf") => {
                let described = described(file)?;
                self.stream = Some((described.name, file.clone()));
                self.ready.push_back(Item::Stream(file.clone()));
            }
            (_, "meta.sum") => {
                let (name, meta) = self.stream.as_ref().ok_or(Fault::Tar)?;
                let key = Sha256::digest(name).into();
                is_sum(&key, meta, file).then_some(()).ok_or_else(|| {
                    Fault::content("stream description does not match its checksum")
                })?;
            }
            (_, "errors.txt") => return Err(Fault::content(&String::from_utf8_lossy(file))),
            (_, "msgs/index.db") => self.index(file),
            (_, name) => self.of_consumer(name, file)?,
        }
        Ok(())
    }

    fn index(&mut self, file: &Bytes) {
        let name = self.stream.as_ref().map(|(name, _)| name.as_str());
        self.index = name.and_then(|name| Index::read(name, file));
    }

    fn of_consumer(&mut self, path: &str, file: &Bytes) -> Result<(), Fault> {
        let parts: Vec<&str> = path.split('/').collect();
        let ["obs", name, what] = *parts.as_slice() else {
            return Ok(());
        };
        if self
            .consumer
            .as_ref()
            .is_none_or(|known| known.name != name)
        {
            self.end_consumer();
            self.consumer = Some(ConsumerKept {
                name: name.to_owned(),
                ..ConsumerKept::default()
            });
        }
        let Some(consumer) = &mut self.consumer else {
            return Ok(());
        };
        match what {
            "meta.inf" => {
                consumer.created = described(file)?.created;
                consumer.config = file.clone();
            }
            "o.dat" => progress::read(file, consumer).ok_or_else(|| {
                Fault::content(&format!(
                    "error restoring consumer [{name:?}]: corrupt state"
                ))
            })?,
            _ => {}
        }
        Ok(())
    }

    fn end_consumer(&mut self) {
        if let Some(consumer) = self.consumer.take().filter(|c| !c.config.is_empty()) {
            self.ready.push_back(Item::Consumer(Box::new(consumer)));
        }
    }
}

fn described(file: &[u8]) -> Result<Described, Fault> {
    serde_json::from_slice(file).map_err(|error| Fault::content(&format!("description: {error}")))
}

fn is_sum(key: &[u8; 32], of: &[u8], sum: &[u8]) -> bool {
    let mut hash = Highway::new(key);
    hash.write(of);
    let digits: String = hash.finish().iter().map(|b| format!("{b:02x}")).collect();
    digits.as_bytes() == sum
}

fn block_number(name: &str) -> Option<u32> {
    name.strip_prefix("msgs/")?
        .strip_suffix(".blk")?
        .parse()
        .ok()
}

const fn padded(len: usize) -> usize {
    len.next_multiple_of(BLOCK)
}
