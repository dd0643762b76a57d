import Testing

@testable import Gateway

@Suite struct MetricNameTests {
    @Test(arguments: MetricName.allCases)
    func `a counter ends in total and nothing else does`(_ name: MetricName) {
        #expect(name.rawValue.hasSuffix("_total") == (name.kind == .counter))
    }

    @Test(arguments: MetricName.allCases)
    func `a name is ours or the process's, in base units, and explained`(_ name: MetricName) {
        #expect(name.rawValue.hasPrefix("carillon_") || name.rawValue.hasPrefix("process_"))
        #expect(name.rawValue.utf8.allSatisfy { $0 == UInt8(ascii: "_") || (97...122).contains($0) })
        #expect(!name.rawValue.contains("milli") && !name.rawValue.contains("kilo"))
        #expect(name.help.hasSuffix("."))
    }

    /// Design 1.6.
    @Test(arguments: [
        "provider_requests_total", "provider_request_seconds", "provider_connections",
        "provider_token_verifications_total", "notifications_accepted_total", "notifications_delivered_total",
        "notifications_discarded_total", "notifications_stored", "notifications_stored_oldest_seconds", "queue_limit",
        "delivery_seconds", "device_sessions", "device_handshakes_total", "device_redeliveries_total", "registrations",
        "store_commit_seconds", "store_batch_size", "store_queue_depth", "loop_lag_seconds",
        "certificate_expires_in_seconds", "build_info",
    ])
    func `each promised metric is there`(_ name: String) {
        #expect(MetricName(rawValue: "carillon_\(name)") != nil)
    }
}
