/// Values with small numbers that are used again after a removal.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, item: T) -> u32 {
        if let Some(key) = self.free.pop() {
            if let Some(place) = self.items.get_mut(key as usize) {
                *place = Some(item);
            }
            return key;
        }
        self.items.push(Some(item));
        u32::try_from(self.items.len() - 1).unwrap_or(u32::MAX)
    }

    pub(crate) fn remove(&mut self, key: u32) -> Option<T> {
        let item = self.items.get_mut(key as usize)?.take()?;
        self.free.push(key);
        Some(item)
    }

    pub(crate) fn get(&self, key: u32) -> Option<&T> {
        self.items.get(key as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        self.items.get_mut(key as usize)?.as_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// In the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..)
            .zip(&self.items)
            .filter_map(|(key, item)| Some((key, item.as_ref()?)))
    }

    /// The items, to be changed, in the order of their numbers.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().flatten()
    }

    pub(crate) fn keys(&self) -> Vec<u32> {
        self.iter().map(|(key, _)| key).collect()
    }
}
