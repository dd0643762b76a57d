import PushCore
import TestSupport
import Testing

/// What docs/provider-api.md says of a request, as far as parsing alone decides it.
@Suite struct PushRequestTests {
    @Test func `the digits after the path's prefix are the token`() throws {
        let token = try #require(DeviceToken(hex: SampleRequest.token))
        #expect(try SampleRequest().target() == .token(token))
    }

    @Test(arguments: ["g", "abc", "%20", "zz"])
    func `what is no token is told later`(_ digits: String) throws {
        #expect(try SampleRequest([.path: "/3/device/\(digits)"]).target() == .badToken)
    }

    @Test(arguments: ["/3/device/", "/3/device"])
    func `a path without a token says so`(_ path: String) throws {
        #expect(try SampleRequest([.path: path]).target() == .missingToken)
    }

    @Test(arguments: [
        "/3/devices/ab", "/2/device/ab", "/", "", "3/device/ab", "/3/device/ab/x", "/3/device/ab/", "/3/device//ab",
        "/3/device/ab?a=1", "/3/device?a=1", "/3/device/?a=1", "/3/Device/ab", "/4/broadcasts/apps/com.example.app",
    ])
    func `any other path is bad`(_ path: String) {
        #expect(throws: Rejection.badPath) { try SampleRequest([.path: path]).target() }
    }

    @Test func `a request without a path has a bad one`() {
        #expect(throws: Rejection.badPath) { try SampleRequest([.path: nil]).target() }
    }

    @Test(arguments: ["GET", "PUT", "post", "POST ", ""])
    func `any method but POST is not allowed`(_ method: String) {
        #expect(throws: Rejection.methodNotAllowed) { try SampleRequest([.method: method]).target() }
    }

    @Test func `the path is looked at before the method`() {
        #expect(throws: Rejection.badPath) { try SampleRequest([.method: "GET", .path: "/3/devices/ab"]).target() }
    }

    @Test(arguments: [("CONNECT", nil), ("OPTIONS", "*"), ("CONNECT", "*")])
    func `without a path it is the method that is wrong`(_ method: String, _ path: String?) {
        #expect(throws: Rejection.methodNotAllowed) { try SampleRequest([.method: method, .path: path]).target() }
    }

    @Test func `repeated headers are refused after path and method`() {
        var request = SampleRequest()
        request.repeatHeader()
        #expect(throws: Rejection.duplicateHeaders) { try request.target() }
        var wrong = SampleRequest([.method: "GET"])
        wrong.repeatHeader()
        #expect(throws: Rejection.methodNotAllowed) { try wrong.target() }
    }

    @Test(arguments: [
        "eabeae54-14a8-11e5-b60b-1697f925ec7b", "EABEAE54-14A8-11E5-B60B-1697F925EC7B",
        "eABeae54-14a8-11e5-b60b-1697f925ec7B", "00000000-0000-0000-0000-000000000000",
    ])
    func `any UUID is a good id and stays as it is`(_ id: String) throws {
        #expect(try SampleRequest([.apnsID: id]).messageID() == id)
    }

    @Test func `no id is none`() throws {
        #expect(try SampleRequest().messageID() == nil)
    }

    @Test(arguments: [
        "", "not-a-uuid", "eabeae5414a811e5b60b1697f925ec7b", "{eabeae54-14a8-11e5-b60b-1697f925ec7b}",
        "eabeae54-14a8-11e5-b60b-1697f925ec7", "eabeae54-14a8-11e5-b60b-1697f925ec7g",
        "eabeae54-14a8-11e5-b60b-1697f925ec7b ", "eabeae541-4a8-11e5-b60b-1697f925ec7b",
        "eabeae54_14a8_11e5_b60b_1697f925ec7b",
    ])
    func `what is not a UUID is a bad id`(_ id: String) {
        #expect(throws: Rejection.badMessageID) { try SampleRequest([.apnsID: id]).messageID() }
    }

    @Test(arguments: ["a", "com.example.app", "com.example.app.voip", "A-Z_0.9", String(repeating: "a", count: 255)])
    func `a topic of the known characters is well formed`(_ topic: String) throws {
        #expect(try SampleRequest([.topic: topic]).topic() == topic)
    }

    @Test(arguments: ["", "com example", "com/example", "é", "a\u{0}", String(repeating: "a", count: 256)])
    func `any other topic is bad`(_ topic: String) {
        #expect(throws: Rejection.badTopic) { try SampleRequest([.topic: topic]).topic() }
    }

    @Test func `a missing topic is told apart from a bad one`() {
        #expect(throws: Rejection.missingTopic) { try SampleRequest([.topic: nil]).topic() }
    }

    @Test(arguments: PushType.allCases)
    func `each type is known on its own topic`(_ type: PushType) throws {
        let priority = type == .background ? "5" : "10"
        let request = SampleRequest([.pushType: type.rawValue, .priority: priority])
        #expect(try request.parsed(suffix: type.topicSuffix).type == type)
    }

    @Test(arguments: ["", "foo", "Alert", "alert ", " alert", "alerts"])
    func `an unknown type is refused`(_ type: String) {
        #expect(throws: Rejection.invalidPushType) { try SampleRequest([.pushType: type]).parsed() }
    }

    @Test(arguments: ["alert", "background"], PushType.topicSuffixes)
    func `alert and background do not go to another type's topic`(_ type: String, _ suffix: String) {
        let request = SampleRequest([.pushType: type, .priority: "5"])
        #expect(throws: Rejection.invalidPushType) { try request.parsed(suffix: suffix) }
    }

    @Test(arguments: [nil, ".voip", ".push-type.widgets"])
    func `without a type any topic will do`(_ suffix: String?) throws {
        #expect(try SampleRequest().parsed(suffix: suffix).type == nil)
    }

    @Test func `a type whose suffix the topic lacks is left to the token`() throws {
        #expect(try SampleRequest([.pushType: "voip"]).parsed().type == .voip)
    }

    @Test func `only VoIP may have the larger payload`() throws {
        #expect(try SampleRequest([.pushType: "voip"]).parsed(suffix: ".voip").payloadLimit == 5120)
        #expect(try SampleRequest().parsed(suffix: ".voip").payloadLimit == 5120)
        #expect(try SampleRequest([.pushType: "alert"]).parsed().payloadLimit == 4096)
        #expect(try SampleRequest().parsed(suffix: ".voip-ptt").payloadLimit == 4096)
        #expect(try SampleRequest([.pushType: "liveactivity"]).parsed().payloadLimit == 4096)
    }

    @Test(arguments: ["", "a", String(repeating: "a", count: 64)])
    func `a collapse id has at most 64 bytes`(_ id: String) throws {
        let request = SampleRequest([.collapseID: id])
        #expect(try request.parsed().collapseID.map(request.text) == id)
    }

    @Test(arguments: [String(repeating: "a", count: 65), String(repeating: "€", count: 22)])
    func `bytes are counted and not characters`(_ id: String) {
        #expect(throws: Rejection.badCollapseID) { try SampleRequest([.collapseID: id]).parsed() }
    }

    @Test func `the first of several faults is told in the order of checks`() throws {
        let all: [RequestField: String?] = [
            .pushType: "foo", .priority: "7", .expiration: "x", .collapseID: String(repeating: "a", count: 65),
        ]
        let order: [(RequestField, Rejection)] = [
            (.pushType, .invalidPushType), (.priority, .badPriority), (.expiration, .badExpirationDate),
            (.collapseID, .badCollapseID),
        ]
        var headers = all
        for (field, rejection) in order {
            #expect(throws: rejection) { try SampleRequest(headers).parsed() }
            headers[field] = .some(nil)
        }
        _ = try SampleRequest(headers).parsed()
    }
}
