import Foundation
import Testing

/// Every entry of `scripts/fuzz` passes what it starts from and what crashed it once, also under the sanitizers.
@Suite struct ReplayTests {
    /// By name; the script finds an entry by its file, this table by its function.
    static let entries: [String: @Sendable ([UInt8]) -> Void] = [
        "Admin": fuzzAdmin, "Base64URL": fuzzBase64URL, "Certificate": fuzzCertificate, "Config": fuzzConfig,
        "CourierConversation": fuzzCourierConversation, "Delivery": fuzzDelivery, "HTTP2": fuzzHTTP2, "JSON": fuzzJSON,
        "ProviderConversation": fuzzProviderConversation, "ProviderToken": fuzzProviderToken,
        "ProxyHeader": fuzzProxyHeader, "Record": fuzzRecord, "Request": fuzzRequest, "Store": fuzzStore,
        "Token": fuzzToken, "Wire": fuzzWire,
    ]

    @Test(arguments: entries.keys.sorted())
    func `an entry passes its corpus and its old crashes`(_ name: String) throws {
        let entry = try #require(Self.entries[name])
        for file in try files(in: "corpus/\(name)") + files(in: "crashes/\(name)") {
            entry(Array(try Data(contentsOf: file)))
        }
    }

    @Test func `every entry, and every folder of inputs, is replayed`() throws {
        let entries = try files(in: ".").map(\.lastPathComponent).filter { $0.hasSuffix("Fuzz.swift") }
        #expect(Set(entries) == Set(Self.entries.keys.map { "\($0)Fuzz.swift" }))
        for folder in ["corpus", "crashes"] {
            #expect(Set(try names(in: folder)).isSubset(of: Self.entries.keys))
        }
    }

    @Test(arguments: entries.keys.sorted())
    func `a corpus is there and stays small`(_ name: String) throws {
        let sizes = try files(in: "corpus/\(name)").map { try Data(contentsOf: $0).count }
        #expect((1..<50).contains(sizes.count))
        #expect(sizes.reduce(0, +) < 64 << 10)
    }

    private let root = URL(filePath: #filePath).deletingLastPathComponent()

    private func names(in folder: String) throws -> [String] {
        let path = root.appending(path: folder).path
        // Not every entry has crashed.
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: path).filter { !$0.hasPrefix(".") }.sorted()
    }

    private func files(in folder: String) throws -> [URL] {
        try names(in: folder).map { root.appending(path: folder).appending(path: $0) }
    }
}
