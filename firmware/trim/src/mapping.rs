/// One mapping of `/proc/self/smaps`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    start: usize,
    end: usize,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// The program's, private and never written: as far as its first line tells.
    File,
    /// Anything else.
    Other,
}

impl Mapping {
    /// The mappings of `program` that hold nothing but what lies in its file.
    ///
    /// Libraries are left alone: one may be on its way in while we look.
    pub(crate) fn unchanged(smaps: &str, program: &str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for line in smaps.lines() {
            if let Some(mapping) = Self::parse(line, program) {
                found.push(mapping);
            } else if is_changed(line)
                && let Some(mapping) = found.last_mut()
            {
                // The loader wrote to some before it took the right to write away.
                mapping.kind = Kind::Other;
            }
        }
        found.retain(|mapping| mapping.kind == Kind::File);
        found
    }

    /// The mapping of a line such as `55d0-55f0 r-xp 00019000 fe:00 1234  /usr/bin/frond`.
    fn parse(line: &str, program: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let is_fixed = matches!(words.next()?, "r-xp" | "--xp" | "r--p");
        let is_file = words.nth(3) == Some(program);
        Some(Self {
            start: usize::from_str_radix(start, 16).ok()?,
            end: usize::from_str_radix(end, 16).ok()?,
            kind: if is_fixed && is_file {
                Kind::File
            } else {
                Kind::Other
            },
        })
    }

    /// Its first address.
    pub(crate) const fn start(&self) -> usize {
        self.start
    }

    /// Its length in bytes.
    pub(crate) const fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }
}

/// Whether a line tells of pages that differ from the file, in memory or in swap.
fn is_changed(line: &str) -> bool {
    let tells = ["Anonymous:", "Swap:"]
        .iter()
        .any(|of| line.starts_with(of));
    tells && !line.ends_with(" 0 kB")
}

#[cfg(test)]
mod tests {
    use super::Mapping;

    fn found(line: &str, anonymous: u32, swap: u32) -> Vec<(usize, usize)> {
        let smaps = format!(
            "{line}\nRss: 24 kB\nAnonymous:  {anonymous} kB\nSwap:  {swap} kB\nSwapPss: 0 kB\n"
        );
        let found = Mapping::unchanged(&smaps, "/bin/frond");
        found.iter().map(|m| (m.start(), m.len())).collect()
    }

    #[test]
    fn only_what_lies_in_files_is_unchanged() {
        let given = vec![(0x1000, 0x2000)];
        for rights in ["r-xp", "r--p"] {
            let line = format!("1000-3000 {rights} 0001 fe:00 12   /bin/frond");
            assert_eq!(found(&line, 0, 0), given);
            assert_eq!(found(&line, 12, 0), []);
            assert_eq!(found(&line, 0, 12), [], "in swap");
        }
        for line in [
            "1000-3000 rwxp 0001 fe:00 12   /bin/frond",
            "1000-3000 rw-p 0001 fe:00 12   /bin/frond",
            "1000-3000 r-xs 0001 fe:00 12   /bin/frond",
            "1000-3000 r-xp 0001 fe:00 12   /lib/libnss_files.so",
            "1000-3000 r-xp 0000 00:00 0    [vdso]",
            "1000-3000 r-xp 0000 00:00 0",
        ] {
            assert_eq!(found(line, 0, 0), [], "{line}");
        }
    }
}
