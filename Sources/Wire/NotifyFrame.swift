package import PushCore

/// What all notifications to one registration say, as it stands in their frames: encoded once, because a gateway does
/// hardly anything more often than framing a notification.
package final class NotifyRoute: Sendable {
    /// The items before the payload.
    let front: [UInt8]
    /// The items after the rest.
    let back: [UInt8]
    /// The topic's name, which follows for extended clients.
    let name: [UInt8]

    package init(token: [UInt8], topicHash: TopicHash, baseToken: [UInt8], topicName: String?) {
        var front: [UInt8] = []
        front.appendItem(Notify.ItemID.token, token)
        front.appendItem(Notify.ItemID.topicHash, topicHash)
        var back: [UInt8] = []
        back.appendItem(Notify.ItemID.baseToken, baseToken)
        var name: [UInt8] = []
        if let topicName { name.appendItem(ExtendedItem.topicName, topicName) }
        (self.front, self.back, self.name) = (front, back, name)
    }
}

/// What one notification says beside its route; see `Notify` for what the fields mean.
package struct NotifyContent: Sendable {
    let payload: [UInt8]
    let messageID: UInt32
    let expiry: UInt32
    let timestamp: UInt64
    let storageFlags: UInt8
    let priority: UInt8
    let uniqueID: UniqueID?
    let collapseID: [UInt8]?
    let pushType: String?

    /// `uniqueID`, `collapseID` and `pushType` are for extended clients.
    package init(
        payload: [UInt8],
        messageID: UInt32,
        expiry: UInt32,
        timestamp: UInt64,
        storageFlags: UInt8,
        priority: UInt8,
        uniqueID: UniqueID?,
        collapseID: [UInt8]?,
        pushType: String?
    ) {
        self.payload = payload
        self.messageID = messageID
        self.expiry = expiry
        self.timestamp = timestamp
        self.storageFlags = storageFlags
        self.priority = priority
        self.uniqueID = uniqueID
        self.collapseID = collapseID
        self.pushType = pushType
    }

    /// The items between the payload and the route's end: numbers of 4, 4, 8, 1 and 1 bytes.
    fileprivate static let numbersCount = 5 * ItemReader.headSize + 18

    fileprivate func appendNumbers(to output: inout [UInt8]) {
        let (messageID, expiry, timestamp, flags, priority) = (messageID, expiry, timestamp, storageFlags, priority)
        output.append(addingCapacity: Self.numbersCount) { items in
            items.append(item: Notify.ItemID.messageID, messageID)
            items.append(item: Notify.ItemID.expiry, expiry)
            items.append(item: Notify.ItemID.timestamp, timestamp)
            items.append(item: Notify.ItemID.storageFlags, flags)
            items.append(item: Notify.ItemID.priority, priority)
        }
    }

    fileprivate func appendExtras(to output: inout [UInt8]) {
        if let uniqueID {
            output.append(addingCapacity: ItemReader.headSize + UniqueID.count) { items in
                items.append(ExtendedItem.uniqueID)
                items.append(bigEndian: UInt16(UniqueID.count))
                items.append(bigEndian: uniqueID.high)
                items.append(bigEndian: uniqueID.low)
            }
        }
        if let collapseID { output.appendItem(ExtendedItem.collapseID, collapseID) }
        if let pushType { output.appendItem(ExtendedItem.pushType, pushType) }
    }
}

extension [UInt8] {
    /// Appends the frame of a notification. Only arrays that were there before are read, and this one rarely
    /// grows more than once.
    package mutating func appendNotify(_ content: NotifyContent, _ route: NotifyRoute, isExtended: Bool) {
        let start = beginFrame(.notify, reserving: Limits.frameOverhead + content.payload.count)
        append(contentsOf: route.front)
        appendItem(Notify.ItemID.payload, content.payload)
        content.appendNumbers(to: &self)
        append(contentsOf: route.back)
        if isExtended {
            append(contentsOf: route.name)
            content.appendExtras(to: &self)
        }
        endFrame(start)
    }
}
