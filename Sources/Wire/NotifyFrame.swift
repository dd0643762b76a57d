package import PushCore

/// What all notifications to one registration say, as it stands in their frames: encoded once, because a gateway does
/// hardly anything more often than framing a notification.
package final class NotifyRoute: Sendable {
    /// The items before the payload, those after the numbers, and for extended clients the topic's name.
    let items: [UInt8]
    /// Where the items before the payload end.
    let frontEnd: Int
    /// Where the items for every client end.
    let plainEnd: Int

    package init(token: [UInt8], topicHash: TopicHash, baseToken: [UInt8], topicName: String?) {
        var items: [UInt8] = []
        // Each registration has one, so it is as long as it must be.
        let nameCount = topicName.map { ItemReader.headSize + $0.utf8.count } ?? 0
        items.reserveCapacity(
            3 * ItemReader.headSize + token.count + TopicHash.count + baseToken.count + nameCount
        )
        items.appendItem(Notify.ItemID.token, token)
        items.appendItem(Notify.ItemID.topicHash, topicHash)
        frontEnd = items.count
        items.appendItem(Notify.ItemID.baseToken, baseToken)
        plainEnd = items.count
        if let topicName { items.appendItem(ExtendedItem.topicName, topicName) }
        self.items = items
    }
}

/// What one notification says beside its route; see `Notify` for what the fields mean.
package struct NotifyContent: Sendable {
    let content: PushContent
    let messageID: UInt32
    let expiry: UInt32
    let timestamp: UInt64
    let storageFlags: UInt8
    let priority: UInt8
    let uniqueID: UniqueID?
    let pushType: String?

    /// `uniqueID`, `pushType` and the content's collapse id are for extended clients.
    package init(
        _ content: PushContent,
        messageID: UInt32,
        expiry: UInt32,
        timestamp: UInt64,
        storageFlags: UInt8,
        priority: UInt8,
        uniqueID: UniqueID?,
        pushType: String?
    ) {
        self.content = content
        self.messageID = messageID
        self.expiry = expiry
        self.timestamp = timestamp
        self.storageFlags = storageFlags
        self.priority = priority
        self.uniqueID = uniqueID
        self.pushType = pushType
    }

    /// The items between the payload and the route's end: numbers of 4, 4, 8, 1 and 1 bytes.
    private static let numbersCount = 5 * ItemReader.headSize + 18

    /// Bytes of the frame's body.
    fileprivate func count(_ route: NotifyRoute, isExtended: Bool) -> Int {
        var count = ItemReader.headSize + content.payloadCount + Self.numbersCount
        guard isExtended else { return count + route.plainEnd }
        count += route.items.count
        if uniqueID != nil { count += ItemReader.headSize + UniqueID.count }
        if content.hasCollapseID { count += ItemReader.headSize + content.bytes.count - content.payloadCount }
        if let pushType { count += ItemReader.headSize + pushType.utf8.count }
        return count
    }

    fileprivate func write(_ route: NotifyRoute, isExtended: Bool, to output: inout RawWriter) {
        unsafe output.write(route.items, 0..<route.frontEnd)
        unsafe output.write(item: Notify.ItemID.payload, content.bytes, 0..<content.payloadCount)
        unsafe output.write(item: Notify.ItemID.messageID, messageID)
        unsafe output.write(item: Notify.ItemID.expiry, expiry)
        unsafe output.write(item: Notify.ItemID.timestamp, timestamp)
        unsafe output.write(item: Notify.ItemID.storageFlags, storageFlags)
        unsafe output.write(item: Notify.ItemID.priority, priority)
        unsafe output.write(route.items, route.frontEnd..<(isExtended ? route.items.count : route.plainEnd))
        guard isExtended else { return }
        if let uniqueID {
            unsafe output.write(head: ExtendedItem.uniqueID, count: UniqueID.count)
            unsafe output.write(bigEndian: uniqueID.high)
            unsafe output.write(bigEndian: uniqueID.low)
        }
        if content.hasCollapseID {
            unsafe output.write(
                item: ExtendedItem.collapseID,
                content.bytes,
                content.payloadCount..<content.bytes.count
            )
        }
        if let pushType {
            unsafe output.write(head: ExtendedItem.pushType, count: pushType.utf8.count)
            for byte in pushType.utf8 { unsafe output.write(bigEndian: byte) }
        }
    }
}

extension [UInt8] {
    /// Appends the frame of a notification. It is written by pointer, into room whose size was counted before: through
    /// the checked appends that other frames use it took 2200 instructions.
    package mutating func appendNotify(_ content: NotifyContent, _ route: NotifyRoute, isExtended: Bool) {
        precondition(content.content.hasPayload, "a push is sent only once its payload is here")
        let count = content.count(route, isExtended: isExtended)
        append(addingCapacity: Self.frameHeadSize + count) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var writer = unsafe RawWriter(buffer, at: initializedCount)
                unsafe writer.write(bigEndian: Command.notify.rawValue)
                unsafe writer.write(bigEndian: UInt32(count))
                unsafe content.write(route, isExtended: isExtended, to: &writer)
                unsafe precondition(
                    writer.position == Self.frameHeadSize + count,
                    "a frame has the size that was counted"
                )
                unsafe initializedCount += writer.position
            }
        }
    }
}

/// Writes into memory. Whoever makes one has counted that what it writes fits.
@unsafe
private struct RawWriter {
    private let start: UnsafeMutablePointer<UInt8>
    /// Bytes that were written.
    private(set) var position = 0

    init(_ buffer: UnsafeMutableBufferPointer<UInt8>, at index: Int) {
        guard let base = buffer.baseAddress else { preconditionFailure("a frame has bytes") }
        unsafe start = base + index
    }

    mutating func write<Number: FixedWidthInteger>(bigEndian number: Number) {
        let size = MemoryLayout<Number>.size
        unsafe UnsafeMutableRawPointer(start + position).storeBytes(of: number.bigEndian, as: Number.self)
        unsafe position += size
    }

    mutating func write(head id: UInt8, count: Int) {
        precondition(count <= UInt16.max, "an item holds at most 65535 bytes")
        unsafe write(bigEndian: id)
        unsafe write(bigEndian: UInt16(count))
    }

    mutating func write<Number: FixedWidthInteger>(item id: UInt8, _ number: Number) {
        unsafe write(head: id, count: MemoryLayout<Number>.size)
        unsafe write(bigEndian: number)
    }

    mutating func write(item id: UInt8, _ bytes: [UInt8], _ range: Range<Int>) {
        unsafe write(head: id, count: range.count)
        unsafe write(bytes, range)
    }

    mutating func write(_ bytes: [UInt8], _ range: Range<Int>) {
        precondition(range.upperBound <= bytes.count, "what is written is there")
        guard !range.isEmpty else { return }
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe (start + position).update(from: bytes.baseAddress! + range.lowerBound, count: range.count)
        }
        unsafe position += range.count
    }
}
