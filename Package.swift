// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target: complete checking, `any` spelled out, imports internal unless said otherwise.
let checked: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// What runs for each push. Debug builds, and with them all tests, check exclusive access at run time; in release the
/// checks cost a tenth of a push (docs/decisions/0010-exclusivity-checks.md).
let hot: [SwiftSetting] = [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// Targets that hold no pointer: the compiler rejects any unsafe expression in them.
let pure: [SwiftSetting] = checked + [.strictMemorySafety()]

let package = Package(
    name: "carillon",
    products: [.executable(name: "carillon", targets: ["carillon"])],
    targets: [
        // C libraries. Each is imported by exactly one Swift module, but OpenSSL by two
        // (docs/decisions/0011-tls-detachment.md), and by the benchmark that measures the libraries themselves.
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CLinux", cSettings: [.define("_GNU_SOURCE")]),
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),

        // The domain and the codecs: values, no I/O, no clock.
        .target(name: "PushCore", swiftSettings: pure + hot),
        .target(name: "Wire", dependencies: ["PushCore"], swiftSettings: pure + hot),

        // One library each.
        .target(name: "Reactor", dependencies: ["CLinux"], swiftSettings: checked + hot),
        .target(name: "TLSRecord", dependencies: ["COpenSSL"], swiftSettings: checked + hot),
        .target(name: "TLS", dependencies: ["COpenSSL", "TLSRecord"], swiftSettings: checked + hot),
        .target(name: "HTTP2", dependencies: ["CNGHTTP2"], swiftSettings: checked + hot),
        .target(name: "JSON", dependencies: ["CSimdJSON"], swiftSettings: checked),
        .target(name: "Storage", dependencies: ["CSQLite", "PushCore", "Reactor"], swiftSettings: checked),
        .target(name: "Admin", dependencies: ["CMicroHTTPD", "Reactor"], swiftSettings: checked),

        // What joins them.
        .target(
            name: "Gateway",
            dependencies: ["PushCore", "Wire", "Reactor", "TLS", "HTTP2", "JSON", "Storage", "Admin"],
            swiftSettings: pure + hot
        ),
        .target(
            name: "Client",
            dependencies: ["CCurl", "PushCore", "Wire", "TLS", "HTTP2", "Reactor", "JSON"],
            swiftSettings: checked + hot
        ),
        .executableTarget(
            name: "carillon",
            dependencies: ["Gateway", "Client", "PushCore", "TLS", "JSON", "Reactor"],
            swiftSettings: checked,
            linkerSettings: [
                // Debug builds, and with them the sanitizers, keep the system's allocator
                // (docs/decisions/0012-jemalloc.md).
                .linkedLibrary("jemalloc", .when(configuration: .release)),
                // All functions of libraries are looked up at the start. Looked up at its first call, one has the
                // dynamic linker save all vector registers on the stack, where a copy of a key leaves 200 bytes of it.
                .unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"]),
            ]
        ),

        // The load for the servers that the gateway is measured beside, and the floors below it.
        .target(name: "BenchmarkSupport", dependencies: ["JSON"], path: "Benchmarks/Support", swiftSettings: checked),
        .executableTarget(
            name: "peerload",
            dependencies: ["BenchmarkSupport", "Client", "JSON", "Reactor", "TLS"],
            path: "Benchmarks/PeerLoad",
            swiftSettings: checked + hot
        ),
        .executableTarget(
            name: "bare",
            dependencies: ["BenchmarkSupport", "COpenSSL", "CSQLite", "JSON", "PushCore", "Reactor", "Storage"],
            path: "Benchmarks/Bare",
            swiftSettings: checked + hot
        ),

        // The gateway in one thread, with everything random about it from one seed (docs/testing.md).
        .executableTarget(
            name: "simulate",
            dependencies: [
                "BenchmarkSupport", "Gateway", "HTTP2", "PushCore", "Reactor", "Storage", "TLS", "TestSupport", "Wire",
            ],
            path: "Simulation",
            swiftSettings: checked
        ),

        .target(name: "TestSupport", dependencies: ["PushCore"], path: "Tests/TestSupport", swiftSettings: checked),
        .testTarget(name: "PushCoreTests", dependencies: ["PushCore", "TestSupport"], swiftSettings: checked),
        .testTarget(name: "WireTests", dependencies: ["Wire", "PushCore"], swiftSettings: checked),
        .testTarget(name: "ReactorTests", dependencies: ["Reactor"], swiftSettings: checked),
        .testTarget(name: "TLSRecordTests", dependencies: ["TLSRecord"], swiftSettings: checked),
        .testTarget(name: "TLSTests", dependencies: ["COpenSSL", "TLS"], swiftSettings: checked),
        .testTarget(name: "HTTP2Tests", dependencies: ["CNGHTTP2", "HTTP2", "TestSupport"], swiftSettings: checked),
        .testTarget(name: "AdminTests", dependencies: ["Admin", "Client", "Reactor"], swiftSettings: checked),
        .testTarget(name: "JSONTests", dependencies: ["JSON"], swiftSettings: checked),
        .testTarget(name: "StorageTests", dependencies: ["Storage", "PushCore", "Reactor"], swiftSettings: checked),
        .testTarget(
            name: "GatewayTests",
            dependencies: ["Gateway", "HTTP2", "PushCore", "Reactor", "Storage", "TLS", "TestSupport", "Wire"],
            swiftSettings: checked
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: ["carillon", "Client", "Gateway", "JSON", "PushCore", "TLS"],
            swiftSettings: checked
        ),
        .testTarget(
            name: "ClientTests",
            dependencies: ["Client", "HTTP2", "PushCore", "Wire", "TLS"],
            swiftSettings: checked
        ),
        .testTarget(name: "PeerLoadTests", dependencies: ["BenchmarkSupport", "peerload"], swiftSettings: checked),
        .testTarget(name: "SimulationTests", dependencies: ["simulate"], swiftSettings: checked),
        .testTarget(name: "TidyTests", swiftSettings: checked),

        // The entries of scripts/fuzz, run over what they start from and what crashed them once.
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "Admin", "COpenSSL", "Client", "Gateway", "HTTP2", "JSON", "PushCore", "Reactor", "Storage", "TLS",
                "TLSRecord", "Wire",
            ],
            path: "Fuzz",
            exclude: ["README.md", "corpus", "crashes"],
            swiftSettings: checked
        ),
    ],
    cxxLanguageStandard: .cxx17
)
