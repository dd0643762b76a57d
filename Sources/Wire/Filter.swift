/// Which topics a device wants, and how. Each one replaces the one before.
package struct Filter: Equatable, Sendable {
    /// nil if the device left it out.
    package var baseToken: [UInt8]?
    /// Delivered.
    package var enabled: [TopicHash]
    /// Thrown away.
    package var ignored: [TopicHash]
    /// Delivered, but priorities 5 and 1 only to an awake device.
    package var opportunistic: [TopicHash]
    /// Kept.
    package var paused: [TopicHash]
    /// Delivered.
    package var nonWaking: [TopicHash]

    package init(
        baseToken: [UInt8]? = nil,
        enabled: [TopicHash] = [],
        ignored: [TopicHash] = [],
        opportunistic: [TopicHash] = [],
        paused: [TopicHash] = [],
        nonWaking: [TopicHash] = []
    ) {
        self.baseToken = baseToken
        self.enabled = enabled
        self.ignored = ignored
        self.opportunistic = opportunistic
        self.paused = paused
        self.nonWaking = nonWaking
    }
}

extension Filter {
    private enum ItemID: UInt8 {
        case baseToken = 1
        case enabled = 2
        case ignored = 3
        case opportunistic = 4
        case paused = 5
        case nonWaking = 6
    }

    init(_ body: Span<UInt8>) throws(Malformed) {
        self.init()
        var reader = ItemReader()
        var previous: ItemID?
        while let item = try reader.next(in: body, continuing: TopicHash.count) {
            // Id 0 says that the reader saw one more value of the list before.
            let id = item.id == 0 ? previous : ItemID(rawValue: item.id)
            previous = id
            switch id {
            case .baseToken: baseToken = body.bytes(item)
            case .enabled: enabled.append(try body.topicHash(item))
            case .ignored: ignored.append(try body.topicHash(item))
            case .opportunistic: opportunistic.append(try body.topicHash(item))
            case .paused: paused.append(try body.topicHash(item))
            case .nonWaking: nonWaking.append(try body.topicHash(item))
            case nil: break
            }
        }
    }

    func encode(into output: inout [UInt8]) {
        let lists: [(ItemID, [TopicHash])] = [
            (.enabled, enabled), (.ignored, ignored), (.opportunistic, opportunistic), (.paused, paused),
            (.nonWaking, nonWaking),
        ]
        output.appendFrame(.filter) { items in
            if let baseToken { items.appendItem(ItemID.baseToken.rawValue, baseToken) }
            for (id, topics) in lists {
                for topic in topics { items.appendItem(id.rawValue, topic) }
            }
        }
    }
}
