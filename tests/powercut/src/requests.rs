//! The kernel's requests, as operations of the disk.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};

use crate::content::{Content, SECTOR_BYTES};
use crate::disk::{Disk, Kind, Node};
use crate::names::Number;
use crate::power::Powered;

/// Nothing is remembered by the kernel but pages that were read: every write comes here.
const TTL: Duration = Duration::ZERO;
const BLOCK_BYTES: u32 = 4096;
const FREE_BLOCKS: u64 = (64 << 30) / BLOCK_BYTES as u64;
const NAME_BYTES_MAX: u32 = 255;

/// The file system that the kernel sees.
#[derive(Debug, Clone)]
pub(crate) struct Requests(pub(crate) Arc<Mutex<Powered>>);

impl Requests {
    fn with<R: Refuse>(&self, reply: R, act: impl FnOnce(&mut Disk, R)) {
        let mut powered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        powered.with(reply, |reply| reply.refuse(Errno::EIO), act);
    }
}

impl Filesystem for Requests {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.with(reply, |disk, reply| match disk.find(parent.0, name) {
            Some((number, node)) => reply.entry(&TTL, &attributes(number, node), Generation(0)),
            None => reply.error(Errno::ENOENT),
        });
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.with(reply, |disk, reply| attr(disk, ino.0, reply));
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.with(reply, |disk, reply| {
            if let Some(mode) = mode {
                disk.set_mode(ino.0, mode);
            }
            if let (Some(size), Some(file)) = (size, disk.file_mut(ino.0)) {
                file.set_len(size as usize);
            }
            attr(disk, ino.0, reply);
        });
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        self.with(reply, |disk, reply| {
            let number = disk.create(parent.0, name, Kind::Dir, mode);
            entry(disk, number, reply);
        });
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.with(reply, |disk, reply| {
            done(disk.remove(parent.0, name), reply)
        });
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.with(reply, |disk, reply| {
            let number = disk.find(parent.0, name).map(|(number, _)| number);
            if number.is_some_and(|number| !disk.list(number).is_empty()) {
                return reply.error(Errno::ENOTEMPTY);
            }
            done(disk.remove(parent.0, name), reply);
        });
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        self.with(reply, |disk, reply| {
            done(disk.rename((parent.0, name), (newparent.0, newname)), reply);
        });
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.with(reply, |_, reply| {
            reply.opened(FileHandle(0), FopenFlags::empty())
        });
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        self.with(reply, |disk, reply| {
            let number = disk.create(parent.0, name, Kind::File(Content::default()), mode);
            match disk.get(number) {
                Some(node) => reply.created(
                    &TTL,
                    &attributes(number, node),
                    Generation(0),
                    FileHandle(0),
                    FopenFlags::empty(),
                ),
                None => reply.error(Errno::EIO),
            }
        });
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.with(reply, |disk, reply| match disk.file(ino.0) {
            Some(file) => reply.data(file.read(offset as usize, size as usize)),
            None => reply.error(Errno::EISDIR),
        });
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.with(reply, |disk, reply| match disk.file_mut(ino.0) {
            Some(file) => {
                file.write(offset as usize, data);
                reply.written(data.len() as u32);
            }
            None => reply.error(Errno::EISDIR),
        });
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.with(reply, |disk, reply| {
            disk.sync_file(ino.0);
            reply.ok();
        });
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.with(reply, |disk, reply| {
            disk.sync_dir(ino.0);
            reply.ok();
        });
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        // Held back like everything else, but built here: a directory is read in one piece.
        self.with((), |disk, ()| {
            let own = [
                (ino.0, OsStr::new("."), FileType::Directory),
                (ino.0, OsStr::new(".."), FileType::Directory),
            ];
            let others = disk.list(ino.0);
            let others = others
                .iter()
                .map(|(number, name, node)| (*number, *name, kind(node)));
            let all = own.into_iter().chain(others).zip(1..).skip(offset as usize);
            for ((number, name, kind), next) in all {
                if reply.add(INodeNo(number), next, kind, name) {
                    break;
                }
            }
        });
        self.with(reply, |_, reply| reply.ok());
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = FREE_BLOCKS;
        reply.statfs(
            blocks,
            blocks,
            blocks,
            blocks,
            blocks,
            BLOCK_BYTES,
            NAME_BYTES_MAX,
            BLOCK_BYTES,
        );
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn access(&self, _: &Request, _: INodeNo, _: AccessFlags, reply: ReplyEmpty) {
        reply.ok();
    }
}

fn attr(disk: &Disk, number: Number, reply: ReplyAttr) {
    match disk.get(number) {
        Some(node) => reply.attr(&TTL, &attributes(number, node)),
        None => reply.error(Errno::ENOENT),
    }
}

fn entry(disk: &Disk, number: Number, reply: ReplyEntry) {
    match disk.get(number) {
        Some(node) => reply.entry(&TTL, &attributes(number, node), Generation(0)),
        None => reply.error(Errno::ENOENT),
    }
}

fn done(is_done: bool, reply: ReplyEmpty) {
    if is_done {
        reply.ok();
    } else {
        reply.error(Errno::ENOENT);
    }
}

fn kind(node: &Node) -> FileType {
    match node.kind {
        Kind::Dir => FileType::Directory,
        Kind::File(_) => FileType::RegularFile,
    }
}

fn attributes(number: Number, node: &Node) -> FileAttr {
    let size = match &node.kind {
        Kind::Dir => 0,
        Kind::File(content) => content.len() as u64,
    };
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: size.div_ceil(SECTOR_BYTES as u64),
        atime: node.changed,
        mtime: node.changed,
        ctime: node.changed,
        crtime: node.changed,
        kind: kind(node),
        perm: node.mode,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: BLOCK_BYTES,
        flags: 0,
    }
}

/// An answer that can be an error.
trait Refuse: Send + 'static {
    fn refuse(self, error: Errno);
}

impl Refuse for () {
    fn refuse(self, _: Errno) {}
}

macro_rules! refuse {
    ($($reply:ty),*) => {$(
        impl Refuse for $reply {
            fn refuse(self, error: Errno) {
                self.error(error);
            }
        }
    )*};
}

refuse!(
    ReplyAttr,
    ReplyCreate,
    ReplyData,
    ReplyDirectory,
    ReplyEmpty,
    ReplyEntry,
    ReplyOpen,
    ReplyWrite
);
