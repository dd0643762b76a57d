/// What a push is for (Sending notification requests to APNs: `apns-push-type`). The raw value is the header's.
package enum PushType: String, CaseIterable, Sendable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
    case controls

    /// A stable small number for the store; never renumber.
    package var code: UInt8 {
        switch self {
        case .alert: 1
        case .background: 2
        case .location: 3
        case .voip: 4
        case .complication: 5
        case .fileprovider: 6
        case .mdm: 7
        case .liveactivity: 8
        case .pushtotalk: 9
        case .widgets: 10
        case .controls: 11
        }
    }

    package init?(code: UInt8) {
        guard let match = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = match
    }

    /// The type that a header's value names.
    init?(_ value: PackedText) {
        guard let index = Self.packedNames.firstIndex(of: value) else { return nil }
        self = Self.allCases[index]
    }

    private static let packedNames = allCases.map { PackedText(known: $0.rawValue) }

    /// What the push type's topic ends in, after the bundle id; nil when the topic is the bundle id alone.
    package var topicSuffix: String? {
        switch self {
        case .alert, .background, .mdm: nil
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// Every suffix a topic may have: an app's topics are its bundle id alone and with each of these.
    package static let topicSuffixes: [String] = allCases.compactMap(\.topicSuffix)
}

/// How soon a push must go out (`apns-priority`). The raw value is the header's.
package enum Priority: UInt8, Comparable, Sendable, CaseIterable {
    case powerFirst = 1
    case powerAware = 5
    case immediate = 10

    package static func < (a: Priority, b: Priority) -> Bool { a.rawValue < b.rawValue }
}

/// Which world an instance serves; tokens and keys do not cross.
package enum Environment: String, Sendable, CaseIterable {
    case development
    case production
}
